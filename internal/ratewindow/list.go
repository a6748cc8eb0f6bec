package ratewindow

// list is a doubly linked list of keys, through the keys themselves.
type list struct{ front, back *key }

// pushBack adds a key at the end.
func (l *list) pushBack(k *key) {
	k.prev, k.next = l.back, nil
	if l.back == nil {
		l.front = k
	} else {
		l.back.next = k
	}
	l.back = k
}

// remove takes a key out.
func (l *list) remove(k *key) {
	if k.prev == nil {
		l.front = k.next
	} else {
		k.prev.next = k.next
	}
	if k.next == nil {
		l.back = k.prev
	} else {
		k.next.prev = k.prev
	}
	k.prev, k.next = nil, nil
}

// moveToBack makes a key the last.
func (l *list) moveToBack(k *key) {
	if l.back == k {
		return
	}
	l.remove(k)
	l.pushBack(k)
}
