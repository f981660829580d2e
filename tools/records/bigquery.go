package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/option"
)

// A destination is a table of BigQuery.
type destination struct {
	project, dataset, table, location string
	endpoint                          string // of a server on loopback, for tests
	append                            bool
}

// load loads a Parquet file into a table, which is replaced unless it is appended to. It
// returns when the job is done, with the number of rows that BigQuery took.
func load(ctx context.Context, file string, to destination) (rows int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, fmt.Errorf("reading records: %w", err)
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil || string(magic) != "PAR1" {
		return 0, fmt.Errorf("%s is no Parquet file: want the output of scruple export STUDY --table records --format parquet", file)
	}
	client, err := to.client(ctx)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	client.Location = to.location
	source := bigquery.NewReaderSource(f)
	source.SourceFormat = bigquery.Parquet
	source.ParquetOptions = &bigquery.ParquetOptions{EnableListInference: true} // lists become ARRAYs
	loader := client.Dataset(to.dataset).Table(to.table).LoaderFrom(source)
	loader.WriteDisposition = bigquery.WriteTruncate
	if to.append {
		loader.WriteDisposition = bigquery.WriteAppend
	}
	job, err := loader.Run(ctx)
	if err != nil {
		return 0, fmt.Errorf("starting the load job: %w", err)
	}
	status, err := job.Wait(ctx)
	if err == nil {
		err = status.Err()
	}
	if err != nil {
		return 0, fmt.Errorf("load job %s: %w", job.ID(), err)
	}
	if loaded, ok := status.Statistics.Details.(*bigquery.LoadStatistics); ok {
		rows = loaded.OutputRows
	}
	return rows, nil
}

// client connects with the credentials of the environment. A server on loopback gets
// none.
func (to destination) client(ctx context.Context) (*bigquery.Client, error) {
	if to.endpoint == "" {
		c, err := bigquery.NewClient(ctx, to.project)
		if err != nil {
			return nil, fmt.Errorf("connecting to BigQuery: %w: run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS", err)
		}
		return c, nil
	}
	u, err := url.Parse(to.endpoint)
	if err != nil || !net.ParseIP(u.Hostname()).IsLoopback() {
		return nil, fmt.Errorf("--endpoint %s: want a server on loopback", to.endpoint)
	}
	return bigquery.NewClient(ctx, to.project, option.WithEndpoint(to.endpoint), option.WithoutAuthentication())
}
