// Package sdk tests Scruple's codecs (internal/model/anthropic, google, openai)
// against the providers' official SDKs. Its tests build the same requests with the
// SDKs and compare them semantically, and decode every recorded answer with the
// SDKs' types. It is a separate module, so that Scruple does not depend on the SDKs.
// When a provider changes its format, update its SDK here and fix what fails.
//
// Command bare is a loop over an SDK, the baseline of tools/load.
package sdk
