package mcp

import (
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// instructions describe the service to a language model before it uses any tool.
const instructions = `Sheaf keeps documentation: documents in Markdown, grouped in projects; folders (three levels) hold projects.
Begin with find, or list_projects and list_documents; answers are short, and read_document gives a text part by part.
Change a text with edit_document: it replaces passages that you copy exactly, and what others wrote elsewhere stays. Take rewrite_document only for a whole new text.
When somebody was faster you are told so and nothing was changed: read the document again and repeat your change on what it says now.
What is deleted waits in the trash: restore_document brings it back. Whoever has the address that share_document or share_project gives can read it without an account.`

// allTools returns all tools. Agents see them ordered by name.
func allTools() []tool {
	read, write := scopes(sheaf.DocumentsRead), scopes(sheaf.DocumentsWrite)
	edit := scopes(sheaf.DocumentsRead, sheaf.DocumentsWrite)
	projects, arrange := scopes(sheaf.ProjectsRead), scopes(sheaf.ProjectsWrite)
	return []tool{
		{name: "find", title: "Find by words", kind: looks, oneOf: scopes(sheaf.DocumentsRead, sheaf.ProjectsRead), call: find,
			about: "Find documents, projects and folders that have all these words, in their names or texts. Answers with a snippet of each.",
			takes: append([]argument{
				must(text("query", `the words, at most 10; "between quotation marks" they stand together`)),
				choice("type", []string{"document", "project", "folder"}, "only of this kind; left out: of all"),
				text("project_id", "only what is in this project"),
				text("folder_id", "only what is in this folder, or below it"),
			}, paging...)},
		{name: "list_documents", title: "List documents", kind: looks, need: read, call: listDocuments,
			about: "List documents, those changed last first, without their texts.",
			takes: append([]argument{
				text("project_id", "only those of this project; \"none\": only those in no project"),
				text("updated_since", "only those changed at this time or later, such as 2026-11-15T10:00:00Z"),
			}, paging...)},
		{name: "read_document", title: "Read a document", kind: looks, need: read, call: readDocument,
			about: "Read a document: first its facts as JSON, with the revision that changes may name, then its Markdown, from one line to another. Where the answer says next_line, there is more.",
			takes: []argument{
				must(documentID),
				number("from_line", 1, maxLine, "the first line to read, from 1; left out: 1"),
				number("lines", 1, maxLines, "how many lines to read; left out: 300"),
			}},
		{name: "create_document", title: "Create a document", kind: adds, need: write, call: createDocument,
			about: "Create a document with a title and a text in Markdown.",
			takes: []argument{
				must(text("title", "1 to 200 characters")),
				text("content", "the text, in Markdown; at most 1 MiB"),
				text("description", "a sentence about it, for lists"),
				text("project_id", "the project it belongs to; left out: none"),
			}},
		{name: "edit_document", title: "Edit a document", kind: changes, need: edit, call: editDocument,
			about: "Replace passages of a document's text, add to its end, or change its title and description. A passage is copied exactly from read_document, with its line breaks, and must be in the text once. The answer has the new revision.",
			takes: []argument{
				must(documentID),
				{name: "edits", about: "the passages to replace, in this order", schema: editsSchema},
				text("append", "Markdown that comes at the end of the text, on a line of its own"),
				text("title", "a new title"),
				text("description", "a new description"),
				revision,
			}},
		{name: "rewrite_document", title: "Rewrite a document", kind: changes, need: write, call: rewriteDocument,
			about: "Replace the whole text of a document. For a part of it take edit_document.",
			takes: []argument{
				must(documentID), must(revision),
				must(text("content", "the whole new text, in Markdown; at most 1 MiB")),
			}},
		{name: "move_document", title: "Move a document", kind: sets, need: write, call: moveDocument,
			about: "Move a document to another project, or out of all.",
			takes: []argument{must(documentID), must(text("project_id", "the project it belongs to from now on; \"none\": to none"))}},
		{name: "delete_document", title: "Delete a document", kind: removes, need: write, call: deleteDocument,
			about: "Put a document into the trash. restore_document brings it back.",
			takes: []argument{must(documentID), revision}},
		{name: "restore_document", title: "Restore a document", kind: sets, need: write, call: restoreDocument,
			about: "Bring a document back from the trash.",
			takes: []argument{must(documentID)}},

		{name: "list_projects", title: "List projects", kind: looks, need: projects, call: listProjects,
			about: "List projects in their order.",
			takes: append([]argument{text("folder_id", "only those right in this folder; \"none\": only those in no folder")}, paging...)},
		{name: "create_project", title: "Create a project", kind: adds, need: arrange, call: createProject,
			about: "Create a project, which groups documents.",
			takes: []argument{
				must(text("name", "1 to 200 characters")),
				text("description", "a sentence about it, for lists"),
				text("folder_id", "the folder it is in; left out: none"),
			}},
		{name: "edit_project", title: "Edit a project", kind: changes, need: arrange, call: editProject,
			about: "Change the name or the description of a project.",
			takes: []argument{
				must(projectID),
				text("name", "a new name"),
				text("description", "a new description"),
				revision,
			}},
		{name: "move_project", title: "Move a project", kind: sets, need: arrange, call: moveProject,
			about: "Move a project to another folder, or out of all.",
			takes: []argument{must(projectID), must(text("folder_id", "the folder it is in from now on; \"none\": in none"))}},
		{name: "delete_project", title: "Delete a project", kind: removes, need: arrange, call: deleteProject,
			about: "Delete a project for good. Its documents stay, in no project.",
			takes: []argument{must(projectID), revision}},

		{name: "list_folders", title: "List folders", kind: looks, need: projects, call: listFolders,
			about: "List the folders of projects in their order; parent_id says which folder one is in.",
			takes: paging},
		{name: "create_folder", title: "Create a folder", kind: adds, need: arrange, call: createFolder,
			about: "Create a folder for projects. Folders are three levels deep at most.",
			takes: []argument{
				must(text("name", "1 to 200 characters")),
				text("parent_id", "the folder it is in; left out: none"),
			}},

		{name: "list_changes", title: "List what changed", kind: looks, need: scopes(sheaf.EventsRead), call: listChanges,
			about: "List what happened, oldest first, since a time or after a change that you know; without either, the newest first. Ask again with after to go on.",
			takes: []argument{
				text("since", "what happened at this time or later, such as 2026-11-15T10:00:00Z"),
				text("after", "what happened after this change: the next_after of the answer before, or the id of one, evt_…"),
				text("resource_id", "only what happened to this document, project, folder or share"),
				number("limit", 1, maxPage, "how many; left out: 20"),
			}},

		{name: "list_shares", title: "List shares", kind: looks, need: scopes(sheaf.SharesRead), call: listShares,
			about: "List the addresses under which documents and projects are published.",
			takes: append([]argument{text("resource_id", "only those of this document or project")}, paging...)},
		{name: "share_document", title: "Share a document", kind: adds, need: scopes(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead), call: shareDocument,
			about: "Publish a document: whoever has the address in the answer can read it, as it is then, without an account.",
			takes: append([]argument{must(documentID)}, sharing...)},
		{name: "share_project", title: "Share a project", kind: adds, need: scopes(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead, sheaf.ProjectsRead), call: shareProject,
			about: "Publish a project with all its documents: whoever has the address in the answer can read them, without an account.",
			takes: append([]argument{must(projectID)}, sharing...)},
		{name: "unshare", title: "End a share", kind: removes, need: scopes(sheaf.SharesWrite), call: unshare,
			about: "End a share: its address leads nowhere from now on, for good.",
			takes: []argument{must(text("share_id", "the id of the share, from list_shares or from making it"))}},
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
	// maxRead bounds the bytes of a text in one answer, unless a single line is longer.
	maxRead = 64 << 10
	// maxOffset is the largest integer that every JSON reader has exactly.
	maxOffset = 1<<53 - 1
)

// Arguments of several tools.
var (
	documentID = text("document_id", "the id of the document, from find or list_documents, or its address sheaf://document/<id>")
	projectID  = text("project_id", "the id of the project, from find or list_projects")
	revision   = number("revision", 1, maxOffset, "the revision that you read; where somebody changed it since, nothing is done and you are told")
	paging     = []argument{
		number("limit", 1, maxPage, "how many; left out: 20"),
		number("offset", 0, maxOffset, "how many to pass over: the next_offset of the answer before"),
	}
	sharing = []argument{
		text("password", "readers are asked for it; 8 to 200 characters; left out: none"),
		text("expires_at", "when the address ends, such as 2026-12-31T00:00:00Z; left out: never"),
	}
	editNames   = []string{"old", "new", "all"}
	editsSchema = map[string]any{"type": "array", "maxItems": sheaf.MaxEdits, "items": map[string]any{
		"type": "object", "required": []string{"old", "new"}, "additionalProperties": false, "properties": map[string]any{
			"old": map[string]any{"type": "string", "description": "the passage, exactly as it stands in the text"},
			"new": map[string]any{"type": "string", "description": "what takes its place; empty: nothing"},
			"all": map[string]any{"type": "boolean", "description": "true: wherever it stands; left out: it must be there once"},
		}}}
)

// readPaging reads limit and offset.
func readPaging(in *strict.Fields) sheaf.Paging {
	p := sheaf.Paging{Limit: usualPage, Offset: int(in.Int("offset", 0, maxOffset).Value)}
	if limit := in.Int("limit", 1, maxPage); limit.Given() {
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

// none stands for no project or no folder, because many hosts cannot send null for a string.
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

// readDocumentID reads document_id: an identifier, or the address of a document as a resource.
func readDocumentID(in *strict.Fields) sheaf.Opt[sheaf.DocumentID] {
	return readPrefixed[sheaf.DocumentID](in, "document_id", documentScheme)
}

// readID reads an identifier.
func readID[T ~string](in *strict.Fields, name string) sheaf.Opt[T] {
	return readPrefixed[T](in, name, "")
}

// readPrefixed reads an identifier that may have the prefix before it.
func readPrefixed[T ~string](in *strict.Fields, name, prefix string) sheaf.Opt[T] {
	t := in.Text(name)
	if !t.Given() {
		return sheaf.Opt[T]{}
	}
	id, ok := sheaf.ParseUUID(strings.TrimPrefix(t.Value, prefix))
	if !ok {
		in.Refuse(sheaf.InvalidField(name, "%s must be an id such as 0190b0a0-0000-7000-8000-000000000000, not %q: find and the lists tell it", name, sheaf.Clip(t.Value)))
	}
	return sheaf.Some(T(id))
}
