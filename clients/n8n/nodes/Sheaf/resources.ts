import type { INodeProperties, INodePropertyOptions } from 'n8n-workflow';

/** One field of a record, as the editor shows it and the API names it. */
interface Field {
	label: string;
	name: string;
	type?: INodeProperties['type'];
	description?: string;
	options?: INodePropertyOptions[];
	placeholder?: string;
	/** Creating sets it once and for all. */
	fixed?: boolean;
}

/** What a resource of the API is in the editor. */
export interface Resource {
	/** Its name in the editor, and its plural. */
	name: string;
	plural: string;
	path: string;
	operations: Operation[];
	/** Fields that creating it needs. */
	required: Field[];
	/** Fields that may be left out. */
	optional: Field[];
	/** What narrows its list. */
	filters: Field[];
	/** Fields of a move; without them, it is moved into a folder. */
	place?: Field[];
}

export type Operation = 'create' | 'get' | 'getAll' | 'update' | 'delete' | 'move' | 'restore' | 'tree' | 'upload' | 'download' | 'publish' | 'find' | 'reject' | 'withdraw' | 'versions' | 'version' | 'compare' | 'restoreVersion';

const direction: Field = {
	label: 'Order',
	name: 'order',
	type: 'options',
	options: [
		{ name: 'Ascending', value: 'asc' },
		{ name: 'Descending', value: 'desc' },
	],
};
const externalId: Field = { label: 'External ID', name: 'external_id', description: 'What another system calls it' };
const updatedSince: Field = { label: 'Updated Since', name: 'updated_since', type: 'dateTime' };
const containing: Field = { label: 'Containing', name: 'q', description: 'Only what has this text in its name, title or description' };
const address: Field = { label: 'URL', name: 'url', description: 'Where it is in another system' };
const metadata: Field = { label: 'Metadata', name: 'metadata', type: 'json', description: 'An object of texts that you keep beside it' };
const description: Field = { label: 'Description', name: 'description' };
const color: Field = { label: 'Color', name: 'color', type: 'color' };
const sortOrder: Field = { label: 'Sort Order', name: 'sort_order', type: 'number' };
const folderId: Field = { label: 'Folder ID', name: 'folder_id' };

const records: Operation[] = ['create', 'get', 'getAll', 'update', 'delete'];

/** Every resource that the node knows. */
export const resources: Record<string, Resource> = {
	branding: {
		name: 'branding',
		plural: 'brandings',
		path: '/api/v1/brandings',
		operations: [...records, 'move'],
		required: [{ label: 'Name', name: 'name' }],
		optional: [
			{ label: 'Color', name: 'color_primary', type: 'color' },
			folderId,
			{ label: 'Footer', name: 'footer' },
			{ label: 'Logo Media ID', name: 'logo_media_id' },
			sortOrder,
		],
		filters: [containing, folderId, direction, updatedSince],
	},
	document: {
		name: 'document',
		plural: 'documents',
		path: '/api/v1/documents',
		operations: [...records, 'move', 'restore', 'versions', 'version', 'compare', 'restoreVersion'],
		required: [{ label: 'Title', name: 'title' }],
		optional: [
			{ label: 'Content', name: 'content', description: 'The text, which is Markdown' },
			description,
			externalId,
			metadata,
			{ label: 'Parent ID', name: 'parent_id', description: 'The document of the same project that it is below' },
			{ label: 'Project ID', name: 'project_id' },
			{ ...sortOrder, description: 'Its position among those with the same parent' },
			address,
		],
		filters: [
			containing,
			{ label: 'Deleted', name: 'deleted', type: 'boolean', description: 'Whether to list the deleted ones, and those alone' },
			externalId,
			direction,
			{ label: 'Parent ID', name: 'parent_id', description: 'Only documents directly below this one. Enter null for the top level.' },
			{ label: 'Project ID', name: 'project_id', description: 'The word null is for those in no project' },
			{
				label: 'Sort By',
				name: 'sort',
				type: 'options',
				options: [
					{ name: 'Created At', value: 'created_at' },
					{ name: 'Sort Order', value: 'sort_order' },
					{ name: 'Title', value: 'title' },
					{ name: 'Updated At', value: 'updated_at' },
				],
			},
			updatedSince,
		],
		place: [
			{ label: 'After ID', name: 'after_id', description: 'The document that it comes right after' },
			{ label: 'Before ID', name: 'before_id', description: 'The document that it comes right before' },
			{ label: 'Parent ID', name: 'parent_id', description: 'The new parent document; empty for the top level' },
			{ label: 'Project ID', name: 'project_id', description: 'The project that it belongs to; empty for none' },
		],
	},
	event: {
		name: 'event',
		plural: 'events',
		path: '/api/v1/events',
		operations: ['get', 'getAll', 'publish'],
		required: [],
		optional: [],
		filters: [
			{ label: 'After', name: 'after', description: 'The ID of an event: only later ones, none missed and none twice' },
			direction,
			{ label: 'Resource ID', name: 'resource_id' },
			{ label: 'Since', name: 'since', type: 'dateTime' },
			{ label: 'Type', name: 'type', placeholder: 'document.updated' },
		],
	},
	folder: {
		name: 'folder',
		plural: 'folders',
		path: '/api/v1/folders',
		operations: [...records, 'move'],
		required: [
			{ label: 'Name', name: 'name' },
			{
				label: 'Holds',
				name: 'entity_type',
				type: 'options',
				fixed: true,
				options: [
					{ name: 'Projects', value: 'project' },
					{ name: 'Brandings', value: 'branding' },
				],
			},
		],
		optional: [color, externalId, { label: 'Parent ID', name: 'parent_id', fixed: true }, sortOrder],
		filters: [containing, externalId, direction, { label: 'Parent ID', name: 'parent_id' }, updatedSince],
	},
	medium: {
		name: 'medium',
		plural: 'media',
		path: '/api/v1/media',
		operations: ['upload', 'download', 'get', 'getAll', 'delete'],
		required: [],
		optional: [{ label: 'Document ID', name: 'document_id', description: 'The document that it belongs to' }],
		filters: [
			{ label: 'Content Type', name: 'content_type', description: 'How the type begins', placeholder: 'image/' },
			{ label: 'Document ID', name: 'document_id' },
			direction,
		],
	},
	project: {
		name: 'project',
		plural: 'projects',
		path: '/api/v1/projects',
		operations: [...records, 'move', 'tree'],
		required: [{ label: 'Name', name: 'name' }],
		optional: [color, description, externalId, folderId, { label: 'Icon', name: 'icon' }, metadata, sortOrder, address],
		filters: [containing, externalId, folderId, direction, updatedSince],
	},
	proposal: {
		name: 'proposal',
		plural: 'proposals',
		path: '/api/v1/proposals',
		operations: ['create', 'get', 'getAll', 'reject', 'withdraw'],
		required: [
			{ label: 'Title', name: 'title' },
			{
				label: 'Changes',
				name: 'changes',
				type: 'json',
				description: 'An array of changes, such as [{"op": "edit", "document_id": "…", "base_version": 1, "content": "…"}]',
			},
		],
		optional: [{ label: 'Message', name: 'message', description: 'Why it is proposed' }],
		filters: [
			{ label: 'Document ID', name: 'document_id', description: 'Only proposals that name this document' },
			direction,
			{ label: 'Project ID', name: 'project_id', description: 'Only proposals about this project and its documents' },
			{
				label: 'State',
				name: 'state',
				type: 'options',
				options: [
					{ name: 'Accepted', value: 'accepted' },
					{ name: 'Open', value: 'open' },
					{ name: 'Rejected', value: 'rejected' },
					{ name: 'Withdrawn', value: 'withdrawn' },
				],
			},
			updatedSince,
		],
	},
	search: {
		name: 'search',
		plural: 'what has the words',
		path: '/api/v1/search',
		operations: ['find'],
		required: [],
		optional: [],
		filters: [folderId, { label: 'Project ID', name: 'project_id' }, { label: 'Types', name: 'type', placeholder: 'project,document' }],
	},
	share: {
		name: 'share',
		plural: 'shares',
		path: '/api/v1/shares',
		operations: records,
		required: [
			{
				label: 'Of',
				name: 'resource_type',
				type: 'options',
				fixed: true,
				options: [
					{ name: 'Document', value: 'document' },
					{ name: 'Folder', value: 'folder' },
					{ name: 'Project', value: 'project' },
				],
			},
			{ label: 'Resource ID', name: 'resource_id', description: 'The ID of the document, the folder or the project', fixed: true },
		],
		optional: [
			{ label: 'Branding ID', name: 'branding_id' },
			{ label: 'Expires At', name: 'expires_at', type: 'dateTime' },
			{ label: 'Listed', name: 'listed', type: 'boolean', description: 'Whether search engines may list it' },
			{ label: 'Password', name: 'password', description: 'What readers are asked for' },
		],
		filters: [direction, { label: 'Resource ID', name: 'resource_id' }],
	},
};

/** The names of fields and filters that are times. */
export const times = new Set(
	Object.values(resources).flatMap((r) => [...r.required, ...r.optional, ...r.filters].filter((f) => f.type === 'dateTime').map((f) => f.name)),
);
