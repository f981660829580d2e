package main

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/serve"
)

// servingFlags are the flags of verbs that show pages in a browser.
func servingFlags(c *cobra.Command, s *serve.Config) {
	c.Flags().IntVar(&s.Port, "port", 0, "port to listen on; 0 takes a free one")
	c.Flags().StringVar(&s.Listen, "listen", "", "IP address to listen on instead of 127.0.0.1 and ::1; others need --tls-cert and --tls-key, or --behind-proxy")
	c.Flags().StringVar(&s.Cert, "tls-cert", "", "PEM file with the certificate of the server")
	c.Flags().StringVar(&s.Key, "tls-key", "", "PEM file with the key of the certificate")
	c.Flags().StringVar(&s.BehindProxy, "behind-proxy", "", "HOST or HOST:PORT that browsers use to reach a reverse proxy in front, which has TLS")
}

// serve prints the address of the server, once, and answers until the context ends.
func (a *app) serve(ctx context.Context, s *serve.Server, h http.Handler) error {
	a.say("%s\nCtrl-C ends it.", s.URL(""))
	return s.Serve(ctx, h)
}
