package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"sheaf.dev/internal/sheaftest/proctest"
)

// atField fails the test unless the error is shown at a field, in the words of its label. The field must
// have the focus, and announce the error to screen readers.
func (b *tab) atField(field, text string) {
	b.t.Helper()
	b.until(text+" at "+field, "(() => { const at = document.activeElement, says = document.getElementById(at.getAttribute('aria-describedby'));"+
		" return at.matches("+quote(field)+") && at.ariaInvalid === 'true' && says.role === 'alert' && says.innerText.trim().startsWith("+quote(text)+") })()")
}

// What is wrong with a form stands at its field, in the dialog and on a page, also on a phone; all of it by the keyboard.
func TestForms_WhatIsWrongStandsAtItsField(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.stepsDone(0)
	b.open("/")
	b.arrive("My workspace")
	b.click("=Webhooks")
	b.arrive("Webhooks")
	b.tabTo("=New webhook")
	b.keys(kb.Enter)
	b.see("dialog [name=name]:focus")
	b.keys("Site" + kb.Tab + "http://example.com" + kb.Enter)
	b.atField("dialog [name=url]", "Address must begin with https://")
	b.shot("webhook-form-fault")
	// What else was typed is still there, and what is repaired is taken.
	b.until("the name", "document.querySelector('dialog [name=name]').value === 'Site'")
	b.fill("dialog [name=url]", "https://example.com/hook")
	b.keys(kb.Enter)
	b.see("#made-secret")
	b.click("=Done")
	b.see("#webhook h1")
	b.stepsDone(1)

	// Of a choice the whole group is meant.
	b.phone()
	b.click("=Keys")
	b.arrive("Keys")
	b.click("=New key")
	b.fill("dialog [name=name]", "n8n")
	ask[bool](b, "(() => { for (const box of document.querySelectorAll('dialog [name=scope]:checked')) box.click(); return true })()")
	b.click("=Create key")
	b.atField("dialog fieldset.checks", "Choose at least one permission")
	b.save("phone-key-form-fault")
	b.keys(kb.Escape)
	b.gone("dialog[open]")
	b.desk()

	// On a page: the title that only has spaces passes the browser.
	at, _ := ask[string](b, workspaceAddress)
	b.open(at + "/documents/new")
	b.fill("[name=title]", "   ")
	b.click("=Create document")
	b.atField("[name=title]", "Title must not be empty")
	b.fill("[name=title]", "Repaired")
	b.keys(kb.Enter)
	b.arrive("Repaired")
	b.stepsDone(2)
	b.importAsThePageSays(s)

	// A smaller plan says what of theirs stops.
	b.open(at + "/settings")
	b.arrive("Settings")
	b.until("what stops", "[...document.querySelectorAll('.choices label')].some((l) => l.innerText.startsWith('Free') && l.querySelector('.stops')?.innerText.includes('1 webhook gets nothing more'))")
}

// importAsThePageSays brings a folder of Markdown by the command that stands among the first steps, with the key in the variable that it
// names, and sees the step ticked off by itself.
func (b *tab) importAsThePageSays(s *service) {
	b.t.Helper()
	says, _ := ask[string](b, "[...document.querySelectorAll('.steps li')].find((l) => l.textContent.includes('Import a folder')).textContent")
	line, _ := ask[string](b, "document.querySelector('.steps code').textContent")
	variable, words := regexp.MustCompile(`SHEAF_\w+`).FindString(says), strings.Fields(line)
	folder := b.t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "docs"), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "docs", "brought.md"), []byte("# Brought\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(proctest.Binary(b.t), words[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), variable+"="+s.Key, "HOME="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s with the key in %s: %v: %s", line, variable, err, out)
	}
	// It may have been the last one that was left to do: then all of them are gone.
	b.until("the step", "!document.querySelector('.steps') || [...document.querySelectorAll('.steps li.done')].some((l) => l.textContent.includes('Import a folder'))")
}

// stepsDone fails the test unless the first page has ticked off n of the first steps.
func (b *tab) stepsDone(n int) {
	b.t.Helper()
	b.open("/")
	b.arrive("My workspace")
	b.until("the steps that are done", "document.querySelectorAll('.steps li').length === 5 && document.querySelectorAll('.steps li.done').length === "+fmt.Sprint(n))
}

// The first steps can be closed, and stay closed.
func TestSteps_CanBeClosed(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.read("First steps")
	b.click("=Close the first steps")
	b.gone(".steps")
	b.open("/")
	b.arrive("My workspace")
	b.gone(".steps")
	b.picture("overview-without-steps")
}
