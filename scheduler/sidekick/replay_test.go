package sidekick

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
)

// frames replays a record frame by frame.
func frames(record []byte, each func(id uint32, s *Session, frame, replies []byte) error) error {
	r := bufio.NewReader(bytes.NewReader(record))
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	var head logHeader
	if err := json.Unmarshal(line, &head); err != nil {
		return err
	}
	sessions := map[uint32]*Session{}
	for {
		var raw [4]byte
		if _, err := io.ReadFull(r, raw[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		id := binary.LittleEndian.Uint32(raw[:])
		frame, err := readFrame(r, nil)
		if err != nil {
			return err
		}
		if sessions[id] == nil {
			if sessions[id], err = NewSession(head.Policy, head.Seed); err != nil {
				return err
			}
		}
		replies, err := sessions[id].Frame(frame)
		if err != nil {
			return err
		}
		if err := each(id, sessions[id], frame, replies); err != nil {
			return err
		}
	}
}
