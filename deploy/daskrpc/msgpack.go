package daskrpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// encode appends a value of the kinds that questions consist of.
func encode(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, 0xc0)
	case bool:
		if v {
			return append(out, 0xc3)
		}
		return append(out, 0xc2)
	case int:
		return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(v))
	case string:
		return append(binary.BigEndian.AppendUint32(append(out, 0xdb), uint32(len(v))), v...)
	case []any:
		out = binary.BigEndian.AppendUint32(append(out, 0xdd), uint32(len(v)))
		for _, e := range v {
			out = encode(out, e)
		}
		return out
	case map[string]any:
		out = binary.BigEndian.AppendUint32(append(out, 0xdf), uint32(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = encode(encode(out, k), v[k])
		}
		return out
	}
	panic(fmt.Sprintf("daskrpc: a question with a %T", v))
}

// Errors of what is no MessagePack.
var (
	errShort = errors.New("the message ends in the middle")
	errDeep  = errors.New("the message is nested too deep")
	errByte  = errors.New("the message is not MessagePack")
)

// depthLimit bounds the nesting of an answer, and with it the stack.
const depthLimit = 64

// decode reads a value: nil, bool, int64, uint64, float64, string, []byte,
// []any, or map[string]any. A key of a map that is no text becomes its text
// in Go's notation. Extensions are their bytes.
func decode(text []byte) (any, error) {
	d := decoder{text: text}
	return d.value(0)
}

type decoder struct{ text []byte }

// take returns the next n bytes.
func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.text)) {
		return nil, errShort
	}
	head := d.text[:n]
	d.text = d.text[n:]
	return head, nil
}

// number reads an unsigned number of 1, 2, 4 or 8 bytes.
func (d *decoder) number(size uint64) (uint64, error) {
	b, err := d.take(size)
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n, err
}

func (d *decoder) value(depth int) (any, error) {
	if depth > depthLimit {
		return nil, errDeep
	}
	head, err := d.number(1)
	if err != nil {
		return nil, err
	}
	switch c := byte(head); {
	case c < 0x80:
		return int64(c), nil
	case c < 0x90:
		return d.table(uint64(c&0x0f), depth)
	case c < 0xa0:
		return d.list(uint64(c&0x0f), depth)
	case c < 0xc0:
		return d.str(uint64(c & 0x1f))
	case c >= 0xe0:
		return int64(int8(c)), nil
	case c == 0xc0:
		return nil, nil
	case c == 0xc2 || c == 0xc3:
		return c == 0xc3, nil
	case c <= 0xc1:
		return nil, errByte
	case c <= 0xd3:
		return d.scalar(c)
	default:
		return d.sized(c, depth)
	}
}

// scalar reads binary data, extensions of variable length and numbers.
func (d *decoder) scalar(c byte) (any, error) {
	switch {
	case c <= 0xc6: // binary data
		n, err := d.number(1 << (c - 0xc4))
		if err != nil {
			return nil, err
		}
		return d.take(n)
	case c <= 0xc9: // extension: a length, a type, data
		n, err := d.number(1 << (c - 0xc7))
		if err != nil {
			return nil, err
		}
		return d.take(n + 1)
	case c == 0xca:
		n, err := d.number(4)
		return float64(math.Float32frombits(uint32(n))), err
	case c == 0xcb:
		n, err := d.number(8)
		return math.Float64frombits(n), err
	case c <= 0xcf:
		return d.number(1 << (c - 0xcc))
	default: // signed: shifted up and down again, to fill in the sign
		size := uint64(1) << (c - 0xd0)
		n, err := d.number(size)
		unused := 64 - 8*size
		return int64(n<<unused) >> unused, err
	}
}

// sized reads extensions of fixed length, and text, lists and tables with a
// length in front.
func (d *decoder) sized(c byte, depth int) (any, error) {
	if c <= 0xd8 {
		return d.take(1<<(c-0xd4) + 1)
	}
	size := uint64(2) << ((c - 0xda) & 1) // 16 and 32 bits take turns
	if c == 0xd9 {
		size = 1
	}
	n, err := d.number(size)
	switch {
	case err != nil:
		return nil, err
	case c <= 0xdb:
		return d.str(n)
	case c <= 0xdd:
		return d.list(n, depth)
	default:
		return d.table(n, depth)
	}
}

func (d *decoder) str(n uint64) (any, error) {
	b, err := d.take(n)
	return string(b), err
}

// Lists and tables grow as their elements come, since n is only a claim.

func (d *decoder) list(n uint64, depth int) (any, error) {
	var out []any
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (d *decoder) table(n uint64, depth int) (any, error) {
	out := map[string]any{}
	for range n {
		k, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out[fmt.Sprint(k)] = v
	}
	return out, nil
}
