package smime

import (
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// Expansion bounds what compressed content may grow to (RFC 5402 §8 has
// nothing to say about it).
type Expansion struct {
	// Ratio is how many octets may come out for each that goes in; 0 means 250.
	// EDI compresses by 10 to 30, deflate at its utmost by 1032.
	Ratio int64
	// Max is how many octets may come out in all; 0 or less is no limit.
	Max int64
}

// freeExpansion comes out whatever the ratio: small messages of blanks exist.
const freeExpansion = 4 << 20

const defaultRatio = 250

// CompressedData reads the content of a CompressedData (RFC 3274).
type CompressedData struct {
	stream *stream
	input  *octetReader
	plain  io.ReadCloser
	limit  Expansion
	output int64
	err    error // sticks
}

// OpenCompressed reads a CompressedData from src, in binary, up to its content.
// zlib is the only algorithm there is (RFC 3274 §2); deflate without zlib's
// frame is taken too, since senders of it exist. Errors are of [ErrDecompress]
// or src's own.
func OpenCompressed(src io.Reader, limit Expansion) (*CompressedData, error) {
	if limit.Ratio <= 0 {
		limit.Ratio = defaultRatio
	}
	d := &CompressedData{stream: newStream(src), limit: limit}
	if err := d.open(); err != nil {
		return nil, d.refusal(err)
	}
	return d, nil
}

// refusal tells the content's faults from those of what it is read from.
func (d *CompressedData) refusal(err error) error {
	var corrupt flate.CorruptInputError
	var internal flate.InternalError
	switch {
	case errors.Is(err, ErrDecompress):
		return err
	case errors.As(err, &corrupt), errors.As(err, &internal), errors.Is(err, errBER), errors.Is(err, zlib.ErrChecksum),
		errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrDictionary), err == io.ErrUnexpectedEOF && d.stream.src.err == nil:
		return fmt.Errorf("%w: %w", ErrDecompress, err)
	case err == io.ErrUnexpectedEOF && d.input != nil && d.input.err == io.EOF:
		return fmt.Errorf("%w: %w", ErrDecompress, err)
	}
	return err
}

func (d *CompressedData) open() error {
	s := d.stream
	kind, err := s.contentInfo()
	if err != nil {
		return err
	}
	if kind != Compressed {
		return errBER
	}
	if _, err := s.expect(tagInteger); err != nil {
		return err
	}
	algorithm, err := s.expect(tagSequence)
	if err != nil {
		return err
	}
	if oid, _ := readAlgorithm(&cursor{rest: algorithm.raw}); oid != oidZLIB {
		return errBER
	}
	if err := s.enter(tagSequence); err != nil { // encapContentInfo
		return err
	}
	if _, err := s.expect(tagOID); err != nil {
		return err
	}
	if err := s.enter(tagContext0); err != nil {
		return err
	}
	if d.input, err = s.octets(tagOctetString); err != nil {
		return err
	}
	return d.inflate()
}

// inflate chooses by the first octets, which in zlib's frame are a checked
// header (RFC 1950 §2.2).
func (d *CompressedData) inflate() error {
	src := NewSource(d.input)
	head, err := src.Peek(2)
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		d.plain, err = zlib.NewReader(src)
		return err
	}
	d.plain = flate.NewReader(src)
	return nil
}

// Read reads the content; io.EOF comes only after its checksum was right.
func (d *CompressedData) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.plain.Read(p)
	d.output += int64(n)
	switch {
	case d.limit.Max > 0 && d.output > d.limit.Max,
		d.output > freeExpansion && d.output/d.limit.Ratio > d.input.total:
		d.err = ErrExpansion
		return 0, d.err
	case err == io.EOF:
		if err = d.finish(); err == nil {
			err = io.EOF
		}
	}
	if err != nil && err != io.EOF {
		err = d.refusal(err)
	}
	if d.err = err; n > 0 {
		return n, nil
	}
	return 0, err
}

// finish reads what follows the compressed content.
func (d *CompressedData) finish() error {
	if err := Drain(d.input); err != nil {
		return err
	}
	return d.stream.finish()
}
