package daskrpc

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// messageLimit bounds a message: the facts about 100,000 workers, and no
// length that something else than Dask might seem to announce.
const messageLimit = 256 << 20

// Client is a connection to a scheduler. One goroutine may use it at a time.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
}

// Identity is what a scheduler tells of itself.
type Identity struct {
	Address string // "tls://10.0.0.1:40123"
	Workers []Worker
}

// Worker is a worker that has registered.
type Worker struct {
	Name    string
	Address string
}

// Connect begins the conversation on a connection, which it takes over. It
// returns when the scheduler has answered; ctx bounds the wait.
func Connect(ctx context.Context, conn net.Conn) (*Client, error) {
	c := &Client{conn: conn, in: bufio.NewReader(conn)}
	// What a peer without compression says of itself.
	_, err := c.exchange(ctx, map[string]any{"compression": nil, "python": []any{3, 11, 0}, "pickle-protocol": 4})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("introduction: %w", err)
	}
	return c, nil
}

// Identity asks who has registered. After an error the connection is of no
// further use.
func (c *Client) Identity(ctx context.Context) (Identity, error) {
	fields, err := c.Ask(ctx, "identity")
	if err != nil {
		return Identity{}, fmt.Errorf("question who has registered: %w", err)
	}
	address, _ := fields["address"].(string)
	workers, ok := fields["workers"].(map[string]any)
	if address == "" || !ok {
		return Identity{}, errors.New("answer without an address or workers")
	}
	id := Identity{Address: address}
	for address, facts := range workers {
		if facts, ok := facts.(map[string]any); ok {
			id.Workers = append(id.Workers, Worker{Name: fmt.Sprint(facts["name"]), Address: address})
		}
	}
	return id, nil
}

// Ask asks for what an operation of the scheduler that needs no arguments
// tells: facts by name, decoded from MessagePack (numbers are int64, uint64 or
// float64). After an error the connection is of no further use.
func (c *Client) Ask(ctx context.Context, operation string) (map[string]any, error) {
	answer, err := c.exchange(ctx, map[string]any{"op": operation, "reply": true})
	if err != nil {
		return nil, err
	}
	facts, ok := answer.(map[string]any)
	if !ok {
		return nil, errors.New("answer without a table of facts")
	}
	return facts, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// exchange sends a message and returns the next one. When ctx is done before,
// the connection is closed.
func (c *Client) exchange(ctx context.Context, message map[string]any) (any, error) {
	// Connections through SSH know no deadlines, and after a question that went
	// unanswered nobody could tell its answer from that to the next.
	defer context.AfterFunc(ctx, func() { _ = c.conn.Close() })()
	answer, err := c.roundTrip(message)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return answer, err
}

func (c *Client) roundTrip(message map[string]any) (any, error) {
	if _, err := c.conn.Write(frame(encode(nil, message))); err != nil {
		return nil, err
	}
	body, err := readFrame(c.in)
	if err != nil {
		return nil, err
	}
	return decode(body)
}

// word is the size of a number in front of frames.
const word = 8

// frame puts a single frame into an envelope: the length of all that follows,
// the number of frames, the length of each.
func frame(body []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(2*word+len(body)))
	out = binary.LittleEndian.AppendUint64(out, 1)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(body)))
	return append(out, body...)
}

// readFrame reads an envelope and returns its first frame. Others hold what
// MessagePack cannot express, and no answer to our questions has any.
func readFrame(r io.Reader) ([]byte, error) {
	var prefix [word]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n < 2*word || n > messageLimit {
		return nil, fmt.Errorf("a message of %d bytes: not Dask's protocol", n)
	}
	// Not allocated at once: the length is only a claim until the bytes come.
	text, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return nil, err
	}
	if uint64(len(text)) < n {
		return nil, io.ErrUnexpectedEOF
	}
	count := binary.LittleEndian.Uint64(text)
	if count != 1 {
		return nil, fmt.Errorf("a message of %d frames where one was expected", count)
	}
	size := binary.LittleEndian.Uint64(text[word:])
	if size != n-2*word {
		return nil, errors.New("a message whose lengths do not agree")
	}
	return text[2*word:], nil
}
