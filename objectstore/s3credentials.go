package objectstore

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/iconedge/iconedge/internal/files"
)

// awsFiles provides the credentials of the AWS files, and reads the files again when one of them
// has changed. If they can't be used, the previous credentials stay.
type awsFiles struct {
	mu    sync.Mutex
	files credentials.FileAWSCredentials
	mark  *files.Mark
	last  credentials.Value
}

var _ credentials.Provider = (*awsFiles)(nil)

func newAWSFiles() *awsFiles {
	home, _ := os.UserHomeDir() // without one, only the files of the variables are watched
	return &awsFiles{mark: files.NewMark(
		cmp.Or(os.Getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "config")),
		cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials")),
	)}
}

// Retrieve is RetrieveWithCredContext with the library's own HTTP client.
func (p *awsFiles) Retrieve() (credentials.Value, error) { return p.RetrieveWithCredContext(nil) }

// RetrieveWithCredContext reads the files. If they can't be used, it returns the previous
// credentials and an error.
func (p *awsFiles) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := p.last.AccessKeyID != "" && p.mark.Changed()
	p.mark.Reading()
	v, err := p.files.RetrieveWithCredContext(c)
	if err != nil || v.AccessKeyID == "" {
		if again { // the library's error might quote a line of the file
			slog.Error("no credentials in the AWS files; the previous ones stay in use")
		}
		return p.last, err
	}
	if again {
		slog.Info("AWS files read again")
	}
	p.last = v
	return v, nil
}

// IsExpired reports whether the credentials must be retrieved again.
func (p *awsFiles) IsExpired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mark.Changed() || p.files.IsExpired()
}
