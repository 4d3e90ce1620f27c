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
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml"
)

// Config is an installation's settings. Every field can be set by the
// environment variable its env tag names.
type Config struct {
	Listen    string `yaml:"listen" env:"RATIBA_LISTEN"`         // host:port, default 127.0.0.1:8080
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

// Models is how language models are reached. Without any, code understands
// alone.
type Models struct {
	OpenAI    Provider `yaml:"openai" envPrefix:"RATIBA_OPENAI_"`
	Anthropic Provider `yaml:"anthropic" envPrefix:"RATIBA_ANTHROPIC_"`
	Roles     string   `yaml:"roles" env:"RATIBA_ROLES"`         // a roles file in place of the built-in one
	Catalogue string   `yaml:"catalogue" env:"RATIBA_CATALOGUE"` // a catalogue file that adds models
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
	if _, err := c.Level(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

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
