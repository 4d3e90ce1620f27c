// Package config reads an installation's settings: a YAML file, over it the
// environment, checked so that every fault is named at once.
//
// Secrets are never in the file: it names environment variables, and Secrets
// looks them up. Every variable may instead be given as NAME_FILE, the path of
// a file that holds the value. The package imports only leaves.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml"
)

// Config is an installation's settings. Every field can be set by the
// environment variable its env tag names.
type Config struct {
	Listen    string `yaml:"listen" env:"RATIBA_LISTEN"`         // host:port, default 127.0.0.1:8080
	MCPListen string `yaml:"mcp_listen" env:"RATIBA_MCP_LISTEN"` // host:port of MCP over HTTP, "" for none
	PublicURL string `yaml:"public_url" env:"RATIBA_PUBLIC_URL"` // how providers reach this installation; required
	Data      string `yaml:"data" env:"RATIBA_DATA"`             // the data directory, default ./data
	LogLevel  string `yaml:"log_level" env:"RATIBA_LOG_LEVEL"`   // debug, info, warn, error; default info
	Node      string `yaml:"node" env:"RATIBA_NODE"`             // this process's name among several; drawn at start when empty

	Database Database `yaml:"database"`
	Redis    Redis    `yaml:"redis"`

	WhatsApp WhatsApp `yaml:"whatsapp"`
	Daraja   Daraja   `yaml:"daraja"`
	Pesapal  Pesapal  `yaml:"pesapal"`
	Models   Models   `yaml:"models"`
	Slack    Slack    `yaml:"slack"`
	Operator Operator `yaml:"operator"`
	Voice    Voice    `yaml:"voice"`

	Calendars Calendars `yaml:"calendars"`
}

// Operator is who runs the installation.
type Operator struct {
	// TokenEnv names the variable with the bearer token of the operator's HTTP
	// API, a secret; default RATIBA_OPERATOR_TOKEN. Where that is not set, there is
	// no such API.
	TokenEnv string `yaml:"token_env" env:"RATIBA_OPERATOR_TOKEN_ENV"`
}

// Voice is how a telephone gateway reaches the product.
type Voice struct {
	// SecretEnv names the variable with the secret by which the gateway signs
	// what it posts; default RATIBA_VOICE_SECRET. Where that is not set, nobody
	// can call.
	SecretEnv string `yaml:"secret_env" env:"RATIBA_VOICE_SECRET_ENV"`
}

// Calendars is how calendars of staff are read.
type Calendars struct {
	// Local allows plain HTTP and addresses of this machine and its network.
	Local bool `yaml:"local" env:"RATIBA_CALENDARS_LOCAL"`
}

// Database is the PostgreSQL database of an installation of several nodes, or
// of one that has outgrown its data directory.
type Database struct {
	// URLEnv names the variable with the postgres:// URL, a secret; default
	// RATIBA_DATABASE_URL. Where that is not set, the data directory holds all.
	URLEnv      string `yaml:"url_env" env:"RATIBA_DATABASE_URL_ENV"`
	Connections int    `yaml:"connections" env:"RATIBA_DATABASE_CONNECTIONS"` // at most, of this process; default 10
}

// Redis is what several nodes coordinate by.
type Redis struct {
	// URLEnv names the variable with the redis:// or rediss:// URL, a secret;
	// default RATIBA_REDIS_URL. Where that is not set, this process is alone.
	URLEnv string `yaml:"url_env" env:"RATIBA_REDIS_URL_ENV"`
}

// WhatsApp is how WhatsApp's providers are reached.
type WhatsApp struct {
	MetaURL        string `yaml:"meta_url" env:"RATIBA_META_URL"`           // default https://graph.facebook.com
	Dialog360URL   string `yaml:"dialog360_url" env:"RATIBA_DIALOG360_URL"` // default https://waba-v2.360dialog.io
	VerifyTokenEnv string `yaml:"verify_token_env" env:"RATIBA_VERIFY_TOKEN_ENV"`
}

// Daraja is how M-Pesa is reached.
type Daraja struct {
	URL string `yaml:"url" env:"RATIBA_DARAJA_URL"` // default https://api.safaricom.co.ke
}

// Pesapal is how PesaPal is reached.
type Pesapal struct {
	URL string `yaml:"url" env:"RATIBA_PESAPAL_URL"` // default https://pay.pesapal.com/v3
}

// Slack is where people decide what models are not sure of. Without a channel,
// here or in a business's definition, they decide in the queue alone.
type Slack struct {
	URL string `yaml:"url" env:"RATIBA_SLACK_URL"` // default https://slack.com/api
	// TokenEnv and SigningSecretEnv name the variables with the bot's token and
	// the app's signing secret; default SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET.
	TokenEnv         string `yaml:"token_env" env:"RATIBA_SLACK_TOKEN_ENV"`
	SigningSecretEnv string `yaml:"signing_secret_env" env:"RATIBA_SLACK_SIGNING_SECRET_ENV"`
	Channel          string `yaml:"channel" env:"RATIBA_SLACK_CHANNEL"` // of businesses that name none: #name or an id
}

// Models is how language models are reached. Without any, code understands
// alone.
type Models struct {
	OpenAI    Provider `yaml:"openai" envPrefix:"RATIBA_OPENAI_"`
	Anthropic Provider `yaml:"anthropic" envPrefix:"RATIBA_ANTHROPIC_"`
	Roles     string   `yaml:"roles" env:"RATIBA_ROLES"`         // a roles file in place of the built-in one
	Catalogue string   `yaml:"catalogue" env:"RATIBA_CATALOGUE"` // a catalogue file that adds models
	Tape      string   `yaml:"tape" env:"RATIBA_TAPE"`           // a file that every model call is appended to
}

// Provider is one model provider.
type Provider struct {
	URL    string `yaml:"url" env:"URL"`
	KeyEnv string `yaml:"key_env" env:"KEY_ENV"` // default OPENAI_API_KEY, ANTHROPIC_API_KEY
}

// Load reads the file at path (none when empty), then the environment.
func Load(path string, environ map[string]string) (Config, error) {
	var c Config
	if path != "" {
		raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file.
		if err != nil {
			return c, fmt.Errorf("read configuration: %w", err)
		}
		if err := yaml.UnmarshalWithOptions(raw, &c, yaml.Strict()); err != nil {
			return c, fmt.Errorf("read configuration %s: %w", path, err)
		}
	}
	if err := env.ParseWithOptions(&c, env.Options{Environment: environ}); err != nil {
		return c, fmt.Errorf("read configuration from the environment: %w", err)
	}
	c = c.withDefaults()
	return c, c.check()
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *string
		value string
	}{
		{&c.Listen, "127.0.0.1:8080"},
		{&c.Data, "data"},
		{&c.LogLevel, "info"},
		{&c.Database.URLEnv, "RATIBA_DATABASE_URL"},
		{&c.Redis.URLEnv, "RATIBA_REDIS_URL"},
		{&c.WhatsApp.MetaURL, "https://graph.facebook.com"},
		{&c.WhatsApp.Dialog360URL, "https://waba-v2.360dialog.io"},
		{&c.WhatsApp.VerifyTokenEnv, "RATIBA_VERIFY_TOKEN"},
		{&c.Daraja.URL, "https://api.safaricom.co.ke"},
		{&c.Slack.URL, "https://slack.com/api"},
		{&c.Slack.TokenEnv, "SLACK_BOT_TOKEN"},
		{&c.Slack.SigningSecretEnv, "SLACK_SIGNING_SECRET"},
		{&c.Operator.TokenEnv, "RATIBA_OPERATOR_TOKEN"},
		{&c.Voice.SecretEnv, "RATIBA_VOICE_SECRET"},
		{&c.Pesapal.URL, "https://pay.pesapal.com/v3"},
		{&c.Models.OpenAI.KeyEnv, "OPENAI_API_KEY"},
		{&c.Models.Anthropic.KeyEnv, "ANTHROPIC_API_KEY"},
	} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if c.Database.Connections == 0 {
		c.Database.Connections = 10
	}
	return c
}

func (c Config) check() error {
	var errs []error
	if c.PublicURL == "" {
		errs = append(errs, errors.New("public_url: want the https address under which WhatsApp and M-Pesa reach this installation"))
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("listen: want host:port, such as 127.0.0.1:8080, not %q", c.Listen))
	}
	for _, address := range []struct{ key, raw string }{
		{"public_url", c.PublicURL},
		{"whatsapp.meta_url", c.WhatsApp.MetaURL},
		{"whatsapp.dialog360_url", c.WhatsApp.Dialog360URL},
		{"daraja.url", c.Daraja.URL},
		{"slack.url", c.Slack.URL},
		{"pesapal.url", c.Pesapal.URL},
		{"models.openai.url", c.Models.OpenAI.URL},
		{"models.anthropic.url", c.Models.Anthropic.URL},
	} {
		if address.raw == "" {
			continue
		}
		if u, err := url.Parse(address.raw); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			errs = append(errs, fmt.Errorf("%s: want an absolute http or https address, not %q", address.key, address.raw))
		}
	}
	if n := c.Database.Connections; n < 4 || n > 1000 {
		errs = append(errs, fmt.Errorf("database.connections: want 4 to 1000, not %d", n))
	}
	if ch := c.Slack.Channel; ch != "" && !SlackChannel(ch) {
		errs = append(errs, fmt.Errorf("slack.channel: want #name or a channel's id, not %q", ch))
	}
	if _, err := c.Level(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// SlackChannel reports whether s names a Slack channel: #name, or an id.
func SlackChannel(s string) bool { return slackChannel.MatchString(s) }

var slackChannel = regexp.MustCompile(`^(#[^\s#@<>&]{1,80}|[CG][A-Z0-9]{6,20})$`)

// Level is the log level.
func (c Config) Level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return l, fmt.Errorf("log_level: want debug, info, warn or error, not %q", c.LogLevel)
	}
	return l, nil
}

// Secrets looks a secret up by the name of its environment variable; "" when
// there is none.
type Secrets func(name string) string

// Environment looks secrets up in the environment given, NAME_FILE included.
func Environment(environ map[string]string) Secrets {
	return func(name string) string {
		if v := environ[name]; v != "" {
			return v
		}
		path := environ[name+"_FILE"]
		if path == "" {
			return ""
		}
		raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file.
		if err != nil {
			return ""
		}
		return strings.TrimRight(string(raw), "\r\n")
	}
}
