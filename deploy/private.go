package deploy

import (
	"context"
	"fmt"
	"time"

	"github.com/esched/esched/internal/hint"
)

// privateBound bounds making a directory.
const privateBound = time.Minute

// privateScript makes the directory $1 and looks whether it is a directory, not
// a link to one, of this user, which nobody else can enter. Names in /tmp can
// be guessed and taken by others.
const privateScript = `umask 077; mkdir -p "$(dirname "$1")" && { [ -d "$1" ] || mkdir -m 700 "$1"; } || exit 1; ` +
	`[ -n "$(find "$1" -prune -type d -user "$(id -u)" -perm 700)" ] || { ls -ld "$1" >&2; exit 3; }`

// MakePrivate makes a directory on a host that only the user can enter, or
// verifies that it is one. Its parents are made as well.
func MakePrivate(ctx context.Context, h Host, dir string) error {
	ctx, release := context.WithTimeoutCause(ctx, privateBound, fmt.Errorf("no end within %v", privateBound))
	defer release()
	_, err := h.Run(ctx, Command{Name: "private-directory", Argv: []string{"sh", "-c", privateScript, "sh", dir}})
	if err != nil {
		err = fmt.Errorf("private directory %s: %w", dir, err)
		return hint.With(err, "choose a scratch directory on the nodes in which you may make directories")
	}
	return nil
}

// Remove removes a directory on a host with all that is in it.
func Remove(ctx context.Context, h Host, dir string) error {
	if node, ok := h.(interface {
		Remove(ctx context.Context, dir string) error
	}); ok {
		return node.Remove(ctx, dir) // a command would leave a record of itself in it
	}
	_, err := h.Run(ctx, Command{Name: "sweep", Argv: []string{"rm", "-rf", "--", dir}})
	return err
}
