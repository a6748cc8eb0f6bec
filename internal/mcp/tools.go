package mcp

import (
	"cmp"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// instructions describe the service to a language model before it uses any tool.
const instructions = `Sheaf keeps documentation: Markdown documents in projects, where they form a tree of at most five levels; folders (three levels) hold projects. Every record has an id; path names what it is in.
To find a page, call find with words of it; read_tree shows a whole project. To answer a question from a long page, call read_document with line_with.
To change a text, call edit_document: what others wrote elsewhere in it stays. Without edit_document, call propose_changes: a person decides.
If an error says that the document was changed after you read it, nothing was done: read it again and repeat your change.
Nothing is lost: restore_document brings back a deleted document, restore_version an earlier text.`

// allTools returns all tools. Agents see them ordered by name.
func allTools() []tool {
	read, write := scopes(sheaf.DocumentsRead), scopes(sheaf.DocumentsWrite)
	edit := scopes(sheaf.DocumentsRead, sheaf.DocumentsWrite)
	projects, arrange := scopes(sheaf.ProjectsRead), scopes(sheaf.ProjectsWrite)
	return []tool{
		{name: "find", title: "Find by words", kind: reads, oneOf: scopes(sheaf.DocumentsRead, sheaf.ProjectsRead), call: find,
			about: "Find documents, projects and folders that have all these words, with a snippet of each. Begin here when you have a word of what you look for.",
			takes: append([]argument{
				must(text("query", `at most 10 words; "between quotation marks" they stand together`)),
				choice("type", []string{"document", "project", "folder"}, ""),
				text("project_id", "only in this project"),
				text("folder_id", "only in this folder or below it"),
			}, paging...)},
		{name: "list_documents", title: "List documents", kind: reads, need: read, call: listDocuments,
			about: "List documents without their texts, last changed first. For the order of a project, call read_tree.",
			takes: append([]argument{
				text("project_id", `only of this project; "none": of no project`),
				text("parent_id", `only those right below this document, in their order; "none": only the top level`),
				text("updated_since", "only those changed at this time or later, such as 2026-11-15T10:00:00Z"),
			}, paging...)},
		{name: "read_tree", title: "Read the tree of a project", kind: reads, need: scopes(sheaf.ProjectsRead, sheaf.DocumentsRead), call: readTree,
			about: "List the documents of a project in reading order, a line each: id and title, indented below their parents.",
			takes: append([]argument{must(text("project_id", ""))}, pagingOf(maxTree, usualTree)...)},
		{name: "read_document", title: "Read a document", kind: reads, need: read, call: readDocument,
			about: "Read a document: its fields, then its Markdown. If the answer has next_line, there is more. Of a long text, read only the part around line_with.",
			takes: []argument{
				must(text("document_id", "its id, or an address of it: in the console, of a share, or sheaf://document/<id>")),
				text("line_with", "begin near the first line that has this"),
				fromLine, lineCount,
				number("version", "an earlier version, from list_versions"),
			}},
		{name: "create_document", title: "Create a document", kind: adds, need: write, call: createDocument,
			about: "Create a document, as the last of its level; move_document puts it elsewhere.",
			takes: []argument{
				must(text("title", "")),
				text("content", "the text in Markdown, at most 1 MiB"),
				text("description", "a sentence for lists"),
				text("project_id", "its project; default none"),
				text("parent_id", "the document above it, in the same project; default none"),
			}},
		{name: "edit_document", title: "Edit a document", kind: changes, need: edit, call: editDocument,
			about: "Change a part of a text, the title or the description. Copy each passage exactly from read_document, with its line breaks.",
			takes: []argument{
				must(documentID),
				{name: "edits", about: "passages to replace, in this order", schema: editsSchema},
				text("append", "Markdown for the end of the text, on a line of its own"),
				text("title", ""),
				text("description", ""),
				revision,
			}},
		{name: "rewrite_document", title: "Rewrite a document", kind: changes, need: write, call: rewriteDocument,
			about: "Replace the whole text. For a part of it, call edit_document.",
			takes: []argument{
				must(documentID), must(revision),
				must(text("content", "the whole new text in Markdown, at most 1 MiB")),
			}},
		{name: "move_document", title: "Move a document", kind: sets, need: write, call: moveDocument,
			about: "Move a document with everything below it, to the end of a level or beside another document. Send at least one place.",
			takes: []argument{
				must(documentID),
				text("project_id", `the new project; "none": none`),
				text("parent_id", `the document above it; "none": the top level`),
				text("before_id", "put it right before this document"),
				text("after_id", "put it right after this document"),
			}},
		{name: "delete_document", title: "Delete a document", kind: removes, need: write, call: deleteDocument,
			about: "Move a document, with everything below it, to the trash.",
			takes: []argument{must(documentID), revision}},
		{name: "restore_document", title: "Restore a document", kind: sets, need: write, call: restoreDocument,
			about: "Bring a document back from the trash, with what was deleted with it.",
			takes: []argument{must(documentID)}},

		{name: "list_versions", title: "List versions", kind: reads, need: read, call: listVersions,
			about: "List the versions of a document's title and text, newest first: who changed it, and when.",
			takes: append([]argument{must(documentID)}, paging...)},
		{name: "compare_versions", title: "Compare versions", kind: reads, need: read, call: compareVersions,
			about: "Show what changed between two versions of a text, as a unified diff.",
			takes: []argument{
				must(documentID), must(number("from_version", "")),
				number("to_version", "default the present one"),
				fromLine, lineCount,
			}},
		{name: "restore_version", title: "Restore a version", kind: changes, need: write, call: restoreVersion,
			about: "Give a document the title and text of an earlier version, as a new version. It undoes everything since; to undo one passage, call edit_document.",
			takes: []argument{must(documentID), must(number("version", "")), revision}},

		{name: "list_projects", title: "List projects", kind: reads, need: projects, call: listProjects,
			about: "List projects in their order.",
			takes: append([]argument{text("folder_id", `only those right in this folder; "none": in no folder`)}, paging...)},
		{name: "create_project", title: "Create a project", kind: adds, need: arrange, call: createProject,
			about: "Create a project, which groups documents.",
			takes: []argument{
				must(text("name", "")),
				text("description", "a sentence for lists"),
				text("folder_id", "its folder; default none"),
			}},
		{name: "edit_project", title: "Edit a project", kind: changes, need: arrange, call: editProject,
			about: "Rename a project, describe it, or move it to another folder.",
			takes: []argument{
				must(text("project_id", "")),
				text("name", ""),
				text("description", ""),
				text("folder_id", `the new folder; "none": none`),
				revision,
			}},
		{name: "delete_project", title: "Delete a project", kind: removes, need: arrange, call: deleteProject,
			about: "Delete a project for good. Its documents stay, without a project.",
			takes: []argument{must(text("project_id", "")), revision}},

		{name: "list_folders", title: "List folders", kind: reads, need: projects, call: listFolders,
			about: "List the folders of projects; parent_id is the folder that each is in.",
			takes: paging},
		{name: "create_folder", title: "Create a folder", kind: adds, need: arrange, call: createFolder,
			about: "Create a folder for projects.",
			takes: []argument{
				must(text("name", "")),
				text("parent_id", "the folder above it; default none"),
			}},
		{name: "edit_folder", title: "Edit a folder", kind: sets, need: arrange, call: editFolder,
			about: "Rename a folder, or move it: one of both in a call.",
			takes: []argument{
				must(text("folder_id", "")),
				text("name", ""),
				text("parent_id", `the folder above it; "none": none`),
			}},
		{name: "delete_folder", title: "Delete a folder", kind: removes, need: arrange, call: deleteFolder,
			about: "Delete a folder for good, with the folders in it. Their projects stay, without a folder.",
			takes: []argument{must(text("folder_id", ""))}},

		{name: "propose_changes", title: "Propose changes", kind: adds, need: scopes(sheaf.ProposalsWrite), call: proposeChanges,
			about: "Propose changes to documents. A person accepts all of them or none; until then no document changes. Send a small change as edits: what others write elsewhere in the text is kept.",
			takes: []argument{
				must(text("title", "what the proposal is about")),
				text("message", "why; Markdown for the person who decides"),
				must(argument{name: "changes", schema: changesSchema}),
			}},
		{name: "list_proposals", title: "List proposals", kind: reads, need: scopes(sheaf.ProposalsRead), call: listProposals,
			about: "List proposals, newest first.",
			takes: append([]argument{
				choice("state", proposalStates, ""),
				text("project_id", "only those that change this project or its documents"),
				text("document_id", "only those that change this document"),
			}, paging...)},
		{name: "read_proposal", title: "Read a proposal", kind: reads, need: scopes(sheaf.ProposalsRead), call: readProposal,
			about: "Read a proposal: its changes, conflicts and newest 50 comments. With change: one of its changes, and the diff of the text.",
			takes: []argument{
				must(text("proposal_id", "")),
				number("change", "the number of the change, from 0"),
				fromLine, lineCount,
			}},
		{name: "comment_proposal", title: "Comment on a proposal", kind: adds, need: scopes(sheaf.ProposalsWrite), call: commentProposal,
			about: "Comment on an open proposal.",
			takes: []argument{
				must(text("proposal_id", "")), must(text("body", "Markdown, at most 10,000 characters")),
				number("change", "the number of the change that it is about, from 0"),
			}},
		{name: "withdraw_proposal", title: "Withdraw a proposal", kind: removes, need: scopes(sheaf.ProposalsWrite), call: withdrawProposal,
			about: "Withdraw an open proposal of your own user, for good.",
			takes: []argument{must(text("proposal_id", ""))}},

		{name: "list_changes", title: "List what changed", kind: reads, need: scopes(sheaf.EventsRead), call: listChanges,
			about: "List what happened in the workspace. With since or after the oldest comes first, otherwise the newest. For the texts of one document, call list_versions.",
			takes: []argument{
				text("since", "a time, such as 2026-11-15T10:00:00Z"),
				text("after", "the next_after of the previous answer"),
				text("resource_id", "only what happened to this record"),
				number("limit", "default 20, at most 50"),
			}},

		{name: "list_shares", title: "List shares", kind: reads, need: scopes(sheaf.SharesRead), call: listShares,
			about: "List the addresses at which documents, projects and folders are published.",
			takes: append([]argument{text("resource_id", "only those of this document, project or folder")}, paging...)},
		{name: "share", title: "Share", kind: adds, need: scopes(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead), call: share,
			about: "Publish a document, a project or a folder of projects: everyone with the address in the answer can read it without an account. Send one of the three ids.",
			takes: []argument{
				text("document_id", ""), text("project_id", ""), text("folder_id", ""),
				text("password", "readers are asked for it; 8 to 200 characters"),
				text("expires_at", "such as 2026-12-31T00:00:00Z; default never"),
			}},
		{name: "unshare", title: "End a share", kind: removes, need: scopes(sheaf.SharesWrite), call: unshare,
			about: "End a share for good: nobody can read at its address any more.",
			takes: []argument{must(text("share_id", ""))}},
	}
}

func scopes(all ...sheaf.Scope) []sheaf.Scope { return all }

// The bounds of answers. Everything that an agent reads costs tokens and stays in its context.
const (
	usualPage  = 20
	maxPage    = 50
	usualLines = 300
	maxLines   = 2000
	maxLine    = sheaf.MaxContent + 1
	usualTree  = 100
	maxTree    = 500
	// maxRead bounds the bytes of a text in one answer, unless a single line is longer.
	maxRead = 64 << 10
	// contextLines come before a line that was searched for.
	contextLines = 3
	// maxOffset is the largest integer that every JSON parser represents exactly.
	maxOffset = 1<<53 - 1
)

// Arguments of several tools.
var (
	documentID  = text("document_id", "")
	revision    = number("revision", "the one that you read")
	fromLine    = number("from_line", "")
	lineCount   = number("lines", "default 300")
	paging      = pagingOf(maxPage, usualPage)
	editNames   = []string{"old", "new", "all"}
	editsSchema = map[string]any{"type": "array", "maxItems": sheaf.MaxEdits, "items": map[string]any{
		"type": "object", "required": []string{"old", "new"}, "additionalProperties": false, "properties": map[string]any{
			"old": map[string]any{"type": "string", "description": "exactly as in the text"},
			"new": map[string]any{"type": "string"},
			"all": map[string]any{"type": "boolean", "description": "replace it everywhere; default: it must be there once"},
		}}}
)

// pagingOf returns limit and offset of a list with pages of at most `most` records, and of `usual` if no
// limit is sent.
func pagingOf(most, usual int) []argument {
	return []argument{
		number("limit", fmt.Sprintf("default %d, at most %d", usual, most)),
		number("offset", ""),
	}
}

// readPaging reads limit and offset of a list whose arguments are pagingOf(most, usual).
func readPaging(in *strict.Fields, most, usual int) sheaf.Paging {
	p := sheaf.Paging{Limit: usual, Offset: int(in.Int("offset", 0, maxOffset).Value)}
	if limit := in.Int("limit", 1, int64(most)); limit.Given() {
		p.Limit = int(limit.Value)
	}
	return p
}

// readRevision reads the revision that the agent has read, which works like If-Match.
func readRevision(in *strict.Fields) sheaf.Match {
	r := in.Int("revision", 1, maxOffset)
	if !r.Given() {
		return sheaf.Match{}
	}
	return sheaf.Match{Asked: true, Revisions: []int64{r.Value}}
}

// none stands for no project, no folder or no parent, because many hosts cannot send null for a string.
const none = "none"

// readPlace reads an optional identifier. "none" and null both mean: no parent.
func readPlace[T ~string](in *strict.Fields, name string) sheaf.Opt[T] {
	t := in.Text(name)
	switch {
	case t.Null || t.Value == none:
		return sheaf.Nil[T]()
	case !t.Set:
		return sheaf.Opt[T]{}
	}
	return readID[T](in, name)
}

// readDocumentID reads document_id.
func readDocumentID(in *strict.Fields) sheaf.Opt[sheaf.DocumentID] {
	return readID[sheaf.DocumentID](in, "document_id")
}

// readID reads an identifier. That of a document may also be an address of it.
func readID[T ~string](in *strict.Fields, name string) sheaf.Opt[T] {
	t := in.Text(name)
	if !t.Given() {
		return sheaf.Opt[T]{}
	}
	given := t.Value
	if _, isDocument := any(T("")).(sheaf.DocumentID); isDocument {
		id, token := addressed(given)
		if token != "" {
			in.Refuse(sheaf.InvalidField(name, "%s must be an id, and this is the address of a share: call read_document with it, and take the id from the answer", name))
		}
		given = cmp.Or(id, given)
	}
	id, ok := sheaf.ParseUUID(given)
	if !ok {
		in.Refuse(sheaf.InvalidField(name, "%s must be an id such as 0190b0a0-0000-7000-8000-000000000000, not %q: find and the lists return it", name, sheaf.Clip(t.Value)))
	}
	return sheaf.Some(T(id))
}
