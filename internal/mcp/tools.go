package mcp

import (
	"fmt"
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// instructions describe the service to a language model before it uses any tool.
const instructions = `Sheaf keeps documentation: documents in Markdown, grouped in projects, where they form a tree of at most five levels; folders (three levels) hold projects.
Begin with find, or list_projects and list_documents; answers are short, and read_document gives a text part by part.
Change a text with edit_document: it replaces passages that you copy exactly, and what others wrote elsewhere stays. Take rewrite_document only for a whole new text.
If you have propose_changes and not edit_document, you cannot change a text: propose the change, and a person decides.
If the document was changed after you read it, you get an error and nothing is changed: read it again and repeat your change on the current text.
Deleted documents stay in the trash: restore_document brings them back. Everyone with the address that share_document or share_project returns can read it without an account.`

// allTools returns all tools. Agents see them ordered by name.
func allTools() []tool {
	read, write := scopes(sheaf.DocumentsRead), scopes(sheaf.DocumentsWrite)
	edit := scopes(sheaf.DocumentsRead, sheaf.DocumentsWrite)
	projects, arrange := scopes(sheaf.ProjectsRead), scopes(sheaf.ProjectsWrite)
	return []tool{
		{name: "find", title: "Find by words", kind: reads, oneOf: scopes(sheaf.DocumentsRead, sheaf.ProjectsRead), call: find,
			about: "Find documents, projects and folders that have all these words, in their names or texts. Returns a snippet of each.",
			takes: append([]argument{
				must(text("query", `the words, at most 10; "between quotation marks" they stand together`)),
				choice("type", []string{"document", "project", "folder"}, "only of this kind; left out: of all"),
				text("project_id", "only what is in this project"),
				text("folder_id", "only what is in this folder, or below it"),
			}, paging...)},
		{name: "list_documents", title: "List documents", kind: reads, need: read, call: listDocuments,
			about: "List documents, last changed first, without their texts.",
			takes: append([]argument{
				text("project_id", "only those of this project; \"none\": only those in no project"),
				text("parent_id", "only those right below this document, in their order; \"none\": only those at the top level"),
				text("updated_since", "only those changed at this time or later, such as 2026-11-15T10:00:00Z"),
			}, paging...)},
		{name: "read_tree", title: "Read the tree of a project", kind: reads, need: scopes(sheaf.ProjectsRead, sheaf.DocumentsRead), call: readTree,
			about: "List all documents of a project in reading order: each is followed by the documents below it. depth is the level, from 1.",
			takes: append([]argument{must(projectID)}, pagingOf(maxTree, usualTree)...)},
		{name: "read_document", title: "Read a document", kind: reads, need: read, call: readDocument,
			about: "Read a document: first its fields as JSON, with the revision that you name in changes, then its Markdown or some of its lines. If the answer has next_line, there is more.",
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
				text("parent_id", "the parent, a document of the same project; left out: the top level"),
				number("sort_order", -maxOffset, maxOffset, "its position among those with the same parent; left out: last"),
			}},
		{name: "edit_document", title: "Edit a document", kind: changes, need: edit, call: editDocument,
			about: "Replace passages of a document's text, add to its end, or change its title and description. Copy a passage exactly from read_document, with its line breaks; it must occur in the text once. The answer has the new revision.",
			takes: []argument{
				must(documentID),
				{name: "edits", about: "the passages to replace, in this order", schema: editsSchema},
				text("append", "Markdown that comes at the end of the text, on a line of its own"),
				text("title", "a new title"),
				text("description", "a new description"),
				revision,
			}},
		{name: "rewrite_document", title: "Rewrite a document", kind: changes, need: write, call: rewriteDocument,
			about: "Replace the whole text of a document. To change a part, use edit_document.",
			takes: []argument{
				must(documentID), must(revision),
				must(text("content", "the whole new text, in Markdown; at most 1 MiB")),
			}},
		{name: "move_document", title: "Move a document", kind: sets, need: write, call: moveDocument,
			about: "Move a document with everything below it: in its project's tree, to another project, or out of its project. It goes to the end of its level, or right before before_id, or right after after_id. Send at least one of project_id, parent_id, before_id and after_id.",
			takes: []argument{
				must(documentID),
				text("project_id", "the project it belongs to from now on; \"none\": to none"),
				text("parent_id", "the new parent document; \"none\": the top level"),
				text("before_id", "the document that it comes right before"),
				text("after_id", "the document that it comes right after"),
			}},
		{name: "delete_document", title: "Delete a document", kind: removes, need: write, call: deleteDocument,
			about: "Move a document, with everything below it, to the trash. restore_document brings it back.",
			takes: []argument{must(documentID), revision}},
		{name: "restore_document", title: "Restore a document", kind: sets, need: write, call: restoreDocument,
			about: "Bring a document back from the trash, with the documents below it that were deleted with it.",
			takes: []argument{must(documentID)}},

		{name: "list_projects", title: "List projects", kind: reads, need: projects, call: listProjects,
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
			about: "Move a project to another folder, or out of its folder.",
			takes: []argument{must(projectID), must(text("folder_id", "the folder it is in from now on; \"none\": in none"))}},
		{name: "delete_project", title: "Delete a project", kind: removes, need: arrange, call: deleteProject,
			about: "Delete a project for good. Its documents stay, without a project.",
			takes: []argument{must(projectID), revision}},

		{name: "list_folders", title: "List folders", kind: reads, need: projects, call: listFolders,
			about: "List the folders of projects in their order; parent_id is the folder that it is in.",
			takes: paging},
		{name: "create_folder", title: "Create a folder", kind: adds, need: arrange, call: createFolder,
			about: "Create a folder for projects. Folders have at most three levels.",
			takes: []argument{
				must(text("name", "1 to 200 characters")),
				text("parent_id", "the folder it is in; left out: none"),
			}},

		{name: "propose_changes", title: "Propose changes", kind: adds, need: scopes(sheaf.ProposalsWrite), call: proposeChanges,
			about: "Propose changes to documents. A person accepts all of them or rejects all; until then no document changes. Send small changes as edits: what others write elsewhere in the text is kept.",
			takes: []argument{
				must(text("title", "what the proposal is about; 1 to 200 characters")),
				text("message", "why; Markdown for the person who decides"),
				must(argument{name: "changes", about: "the changes, 1 to 100", schema: changesSchema}),
			}},
		{name: "list_proposals", title: "List proposals", kind: reads, need: scopes(sheaf.ProposalsRead), call: listProposals,
			about: "List proposals of changes, newest first.",
			takes: append([]argument{
				choice("state", proposalStates, "only those in this state; left out: all"),
				text("project_id", "only those that change this project or its documents"),
				text("document_id", "only those that change this document"),
			}, paging...)},
		{name: "read_proposal", title: "Read a proposal", kind: reads, need: scopes(sheaf.ProposalsRead), call: readProposal,
			about: "Read a proposal: its changes, its state, its conflicts, and the newest 50 comments. If change is given: that change, with the difference that it makes to the text.",
			takes: []argument{
				must(proposalID),
				number("change", 0, sheaf.MaxProposed-1, "the number of one change, from 0, to read with its difference"),
				number("from_line", 1, maxLine, "of a difference: the first line to read, from 1; left out: 1"),
				number("lines", 1, maxLines, "of a difference: how many lines to read; left out: 300"),
			}},
		{name: "comment_proposal", title: "Comment on a proposal", kind: adds, need: scopes(sheaf.ProposalsWrite), call: commentProposal,
			about: "Comment on an open proposal.",
			takes: []argument{
				must(proposalID), must(text("body", "the comment, in Markdown; at most 10,000 characters")),
				number("change", 0, sheaf.MaxProposed-1, "the change that the comment is about, from 0; left out: the whole proposal"),
			}},
		{name: "withdraw_proposal", title: "Withdraw a proposal", kind: removes, need: scopes(sheaf.ProposalsWrite), call: withdrawProposal,
			about: "Withdraw an open proposal of your own user, for good.",
			takes: []argument{must(proposalID)}},

		{name: "list_changes", title: "List what changed", kind: reads, need: scopes(sheaf.EventsRead), call: listChanges,
			about: "List what happened, oldest first, since a time or after a change that you know; without either, the newest first. To continue, call it again with after.",
			takes: []argument{
				text("since", "what happened at this time or later, such as 2026-11-15T10:00:00Z"),
				text("after", "what happened after this change: the next_after of the previous answer, or the id of one, evt_…"),
				text("resource_id", "only what happened to this document, project, folder, share or proposal"),
				number("limit", 1, maxPage, "how many; left out: 20"),
			}},

		{name: "list_shares", title: "List shares", kind: reads, need: scopes(sheaf.SharesRead), call: listShares,
			about: "List the addresses at which documents, projects and folders are published.",
			takes: append([]argument{text("resource_id", "only those of this document, project or folder")}, paging...)},
		{name: "share_document", title: "Share a document", kind: adds, need: scopes(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead), call: shareDocument,
			about: "Publish a document: everyone with the address in the answer can read it, always as it currently is, without an account.",
			takes: append([]argument{must(documentID)}, sharing...)},
		{name: "share_project", title: "Share a project", kind: adds, need: scopes(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead, sheaf.ProjectsRead), call: shareProject,
			about: "Publish a project with all its documents: everyone with the address in the answer can read them, without an account.",
			takes: append([]argument{must(projectID)}, sharing...)},
		{name: "share_folder", title: "Share a folder", kind: adds, need: scopes(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead, sheaf.ProjectsRead), call: shareFolder,
			about: "Publish a folder of projects as one site: everyone with the address in the answer can read all documents in it and below it, without an account.",
			takes: append([]argument{must(text("folder_id", "the folder, which must hold projects"))}, sharing...)},
		{name: "unshare", title: "End a share", kind: removes, need: scopes(sheaf.SharesWrite), call: unshare,
			about: "End a share for good: its address is then not found.",
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
	usualTree  = 100
	maxTree    = 500
	// maxRead bounds the bytes of a text in one answer, unless a single line is longer.
	maxRead = 64 << 10
	// maxOffset is the largest integer that every JSON parser represents exactly.
	maxOffset = 1<<53 - 1
)

// Arguments of several tools.
var (
	documentID = text("document_id", "the id of the document, from find or list_documents, or its address sheaf://document/<id>")
	proposalID = text("proposal_id", "the id of the proposal, as list_proposals or propose_changes returned it")
	projectID  = text("project_id", "the id of the project, from find or list_projects")
	revision   = number("revision", 1, maxOffset, "the revision that you read; if it was changed since, nothing is done and you get an error")
	paging     = pagingOf(maxPage, usualPage)
	sharing    = []argument{
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

// pagingOf returns limit and offset of a list with pages of at most `most` records, and of `usual` if no
// limit is sent.
func pagingOf(most, usual int) []argument {
	return []argument{
		number("limit", 1, int64(most), fmt.Sprint("how many; left out: ", usual)),
		number("offset", 0, maxOffset, "how many to skip: the next_offset of the previous answer"),
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

// readID reads an identifier. That of a document may also be its address as a resource.
func readID[T ~string](in *strict.Fields, name string) sheaf.Opt[T] {
	t := in.Text(name)
	if !t.Given() {
		return sheaf.Opt[T]{}
	}
	prefix := ""
	if _, isDocument := any(T("")).(sheaf.DocumentID); isDocument {
		prefix = documentScheme
	}
	id, ok := sheaf.ParseUUID(strings.TrimPrefix(t.Value, prefix))
	if !ok {
		in.Refuse(sheaf.InvalidField(name, "%s must be an id such as 0190b0a0-0000-7000-8000-000000000000, not %q: find and the lists return it", name, sheaf.Clip(t.Value)))
	}
	return sheaf.Some(T(id))
}
