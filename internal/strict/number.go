package strict

import (
	"bytes"
	"strconv"
)

// integer returns the exact value of a JSON number, or false if it has a fraction or does not fit
// 64 bits. It reads the digits once and allocates nothing, however long the number is.
func integer(number []byte) (int64, bool) {
	digits, negative := bytes.CutPrefix(number, []byte("-"))
	mantissa, exponent := cutExponent(digits)
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	fraction = bytes.TrimRight(fraction, "0")
	if len(fraction) == 0 {
		zeros := len(whole)
		whole = bytes.TrimRight(whole, "0")
		exponent += zeros - len(whole)
	}
	exponent -= len(fraction)
	whole = bytes.TrimLeft(whole, "0")
	if len(whole) == 0 {
		fraction = bytes.TrimLeft(fraction, "0")
	}
	return compose(negative, whole, fraction, exponent)
}

// compose returns the digits of whole and fraction, which neither begin nor end with a zero, times
// ten to exponent.
func compose(negative bool, whole, fraction []byte, exponent int) (int64, bool) {
	size := len(whole) + len(fraction)
	if size == 0 {
		return 0, true
	}
	const longest = len("9223372036854775808")
	if exponent < 0 || size > longest || exponent > longest-size {
		return 0, false
	}
	var buf [1 + longest]byte
	b := buf[:0]
	if negative {
		b = append(b, '-')
	}
	b = append(append(b, whole...), fraction...)
	for range exponent {
		b = append(b, '0')
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}

// maxExponent is beyond what any body's digits could make up for, and far from overflowing.
const maxExponent = 1 << 40

// cutExponent splits off the exponent, which it holds within ±maxExponent.
func cutExponent(digits []byte) (mantissa []byte, exponent int) {
	i := bytes.IndexAny(digits, "eE")
	if i < 0 {
		return digits, 0
	}
	mantissa, digits = digits[:i], digits[i+1:]
	negative := digits[0] == '-'
	for _, c := range bytes.TrimLeft(digits, "+-") {
		exponent = min(exponent*10+int(c-'0'), maxExponent)
	}
	if negative {
		return mantissa, -exponent
	}
	return mantissa, exponent
}
