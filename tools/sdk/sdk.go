// Package sdk holds the providers' official SDKs as oracles of our own codecs
// (internal/model/anthropic, google, openai). Its tests build the same requests
// with the SDKs and compare them by meaning, and read every recorded answer
// with the SDKs' types. It is a module of its own, so that the program does not
// depend on them. When a provider changes its format, update its SDK here and
// see what fails.
//
// Command bare is the loop over an SDK that tools/load measures Scruple against.
package sdk
