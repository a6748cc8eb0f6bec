package merge

// maxCells bounds the table of settledLines. It is enough for every text of 1,400 lines, and for 50
// replaced lines in a text of MaxLines.
const maxCells = 4_200_000

// settledLines reports for each line of the base whether all shortest ways to turn the base into the
// side keep it, and keep it as the same line. If lines repeat, there may be several such ways: then
// the lines that only some of them keep are not settled, and a change of the other side must not
// come near. It returns nil if the table would be too large.
//
// The table has the distance between each beginning of the base and each beginning of the side, as
// far as their lengths differ by no more than the changes. A step is on a shortest way if the
// distances before and after it add up to the distance of the whole texts.
func settledLines(base, side []rune, diffs []diff) []bool {
	t := newTable(base, side, diffs)
	if len(t.cells) == 0 {
		return nil
	}
	t.fill()
	n := len(base)
	distance := t.at(n, len(side)-n)
	settled := make([]bool, n)
	below, row := t.lastRow(), make([]uint16, t.width)
	for i := n - 1; i >= 0; i-- {
		kept, removed := 0, false
		for c := t.width - 1; c >= 0; c-- {
			j := i + c - t.reach
			row[c] = t.far
			if j < 0 || j > len(side) {
				continue
			}
			if j < len(side) && c+1 < t.width {
				row[c] = min(row[c], row[c+1]+1)
			}
			if c > 0 {
				row[c] = min(row[c], below[c-1]+1)
				removed = removed || t.row(i)[c]+1+below[c-1] == distance
			}
			if j < len(side) && base[i] == side[j] {
				row[c] = min(row[c], below[c])
				if t.row(i)[c]+below[c] == distance {
					kept++
				}
			}
		}
		settled[i] = kept == 1 && !removed
		below, row = row, below
	}
	return settled
}

// table has a row for each beginning of the base. Column c of row i is for the first i + c - reach
// lines of the side.
type table struct {
	base, side   []rune
	reach, width int
	far          uint16 // more than the distance of the texts
	cells        []uint16
}

func newTable(base, side []rune, diffs []diff) *table {
	t := &table{base: base, side: side}
	for _, d := range diffs {
		t.reach += d.End - d.Start + d.ReplEnd - d.ReplStart
	}
	t.reach = min(t.reach, max(len(base), len(side)))
	t.width = 2*t.reach + 1
	t.far = 1 << 15
	if cells := t.width * (len(base) + 1); cells <= maxCells {
		t.cells = make([]uint16, cells)
	}
	return t
}

func (t *table) row(i int) []uint16 { return t.cells[i*t.width : (i+1)*t.width] }

func (t *table) at(i, ahead int) uint16 { return t.row(i)[ahead+t.reach] }

// fill computes the distances row by row.
func (t *table) fill() {
	for i := 0; i <= len(t.base); i++ {
		row := t.row(i)
		for c := range row {
			j := i + c - t.reach
			row[c] = t.far
			switch {
			case j < 0 || j > len(t.side):
				continue
			case i == 0 && j == 0:
				row[c] = 0
				continue
			}
			if j > 0 && c > 0 {
				row[c] = min(row[c], row[c-1]+1)
			}
			if i == 0 {
				continue
			}
			above := t.row(i - 1)
			if c+1 < t.width {
				row[c] = min(row[c], above[c+1]+1)
			}
			if j > 0 && t.base[i-1] == t.side[j-1] {
				row[c] = min(row[c], above[c])
			}
		}
	}
}

// lastRow returns the distances to the ends of both texts from the end of the base.
func (t *table) lastRow() []uint16 {
	row := make([]uint16, t.width)
	for c := range row {
		row[c] = t.far
		if j := len(t.base) + c - t.reach; j >= 0 && j <= len(t.side) {
			row[c] = uint16(len(t.side) - j)
		}
	}
	return row
}
