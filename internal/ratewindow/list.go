package ratewindow

// list is a doubly linked list of keys, through the keys themselves.
type list struct{ front, back *key }

func (l *list) pushBack(k *key) {
	k.prev, k.next = l.back, nil
	if l.back == nil {
		l.front = k
	} else {
		l.back.next = k
	}
	l.back = k
}

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

func (l *list) moveToBack(k *key) {
	if l.back == k {
		return
	}
	l.remove(k)
	l.pushBack(k)
}
