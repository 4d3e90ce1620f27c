package doctor

import "github.com/ratiba/ratiba/internal/tenant"

// slack looks at where people decide what models are not sure of.
func (e *examination) slack() {
	set := e.settings.Slack
	if set.Channel == "" {
		e.add(OK, "slack", "no channel for all businesses: those that name none have the queue alone")
		return
	}
	before := len(e.Findings)
	e.posts("slack.channel " + set.Channel)
	if len(e.Findings) == before {
		e.add(OK, "slack", "%s", set.Channel)
	}
}

// channel looks at a business's own channel.
func (e *examination) channel(t tenant.Tenant) {
	if t.Slack != "" {
		e.posts(t.Slug + ": slack_channel " + t.Slack)
	}
}

// posts names what is missing to post in a channel and to read what is tapped.
func (e *examination) posts(where string) {
	set := e.settings.Slack
	if e.secret(set.TokenEnv) == "" {
		e.add(Fail, "slack", "%s: %s: want the bot's token", where, set.TokenEnv)
	}
	if e.secret(set.SigningSecretEnv) == "" {
		e.add(Fail, "slack", "%s: %s: want the app's signing secret", where, set.SigningSecretEnv)
	}
}
