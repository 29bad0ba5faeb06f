package local_test

import (
	"testing"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/local"
)

func TestMain(m *testing.M) {
	deploytest.Main(m)
}

func TestHost(t *testing.T) {
	t.Parallel()
	deploytest.Run(t, func(t *testing.T, records string) deploy.Host {
		h, err := local.New(local.Config{Guard: deploytest.Guard(), Records: records})
		if err != nil {
			t.Fatal(err)
		}
		return h
	})
}
