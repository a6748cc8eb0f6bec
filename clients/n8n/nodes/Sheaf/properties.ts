import type { INodeProperties, INodePropertyCollection, INodePropertyOptions } from 'n8n-workflow';

import { type Operation, type Resource, resources } from './resources';

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** How an operation is called in the list of a resource, and among all actions. */
const words: Record<Operation, (r: Resource) => { name: string; action: string; description: string }> = {
	create: (r) => ({ name: 'Create', action: `Create a ${r.name}`, description: `Create a ${r.name}` }),
	get: (r) => ({ name: 'Get', action: `Get a ${r.name}`, description: `Get one ${r.name} by its ID` }),
	getAll: (r) => ({ name: 'Get Many', action: `Get many ${r.plural}`, description: `List ${r.plural}, page after page` }),
	update: (r) => ({ name: 'Update', action: `Update a ${r.name}`, description: 'Change the fields that are set' }),
	delete: (r) => ({ name: 'Delete', action: `Delete a ${r.name}`, description: `Delete a ${r.name}` }),
	move: (r) => ({ name: 'Move', action: `Move a ${r.name}`, description: r.place ? 'Move it within its project, or to another project' : 'Put it into a folder, or at the root level' }),
	restore: (r) => ({ name: 'Restore', action: `Restore a ${r.name}`, description: 'Bring a deleted one back' }),
	tree: (r) => ({ name: 'Get Tree', action: `Get the tree of a ${r.name}`, description: 'List all its documents in reading order' }),
	upload: (r) => ({ name: 'Upload', action: `Upload a ${r.name}`, description: 'Store a file of at most 10 MB' }),
	download: (r) => ({ name: 'Download', action: `Download a ${r.name}`, description: 'Get the file itself' }),
	publish: (r) => ({ name: 'Publish', action: `Publish an ${r.name}`, description: 'Report what happened in another part of your system' }),
	reject: (r) => ({ name: 'Reject', action: `Reject a ${r.name}`, description: 'End it without making its changes' }),
	withdraw: (r) => ({ name: 'Withdraw', action: `Withdraw a ${r.name}`, description: 'End one that the same user has made' }),
	versions: (r) => ({ name: 'Get Versions', action: `Get the versions of a ${r.name}`, description: 'List its versions, newest first' }),
	version: (r) => ({ name: 'Get Version', action: `Get a version of a ${r.name}`, description: 'Get one version with its text' }),
	compare: (r) => ({ name: 'Compare Versions', action: `Compare versions of a ${r.name}`, description: 'Get what changed in the text, as a unified diff' }),
	restoreVersion: (r) => ({ name: 'Restore Version', action: `Restore a version of a ${r.name}`, description: 'Give it the title and text of an earlier version' }),
	find: () => ({ name: 'Find', action: 'Find by words', description: 'Find projects, folders and documents by the words in them' }),
};

/** Everything that the editor shows. */
export function properties(): INodeProperties[] {
	const choice: INodeProperties = {
		displayName: 'Resource',
		name: 'resource',
		type: 'options',
		noDataExpression: true,
		options: Object.entries(resources).map(([value, r]) => ({ name: capital(r.name), value })),
		default: 'document',
	};
	return [choice, ...Object.entries(resources).flatMap(([value, r]) => of(value, r))];
}

/** What the editor shows of one resource. */
function of(resource: string, r: Resource): INodeProperties[] {
	const when = (...operation: Operation[]) => ({ show: { resource: [resource], operation } });
	const has = (...wanted: Operation[]) => wanted.filter((o) => r.operations.includes(o));
	const operation: INodeProperties = {
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: [resource] } },
		options: r.operations.map((value) => ({ ...words[value](r), value })),
		default: 'get',
	};
	if (!r.operations.includes('get')) operation.default = r.operations[0];
	const out: INodeProperties[] = [operation];
	const single = has('get', 'update', 'delete', 'move', 'restore', 'tree', 'download', 'reject', 'withdraw', 'versions', 'version', 'compare', 'restoreVersion');
	if (single.length > 0) out.push(text(`${capital(r.name)} ID`, 'id', when(...single)));
	if (has('create').length > 0) out.push(...r.required.map((f) => ({ ...field(f), required: true, displayOptions: when('create') })));
	if (r.place) {
		out.push(...collection('Place', 'fields', r.place, when('move')));
	} else if (has('move').length > 0) {
		out.push({ ...text('To', 'to', when('move')), required: false, description: 'The ID of the folder; empty for the root level' });
	}
	if (has('version').length > 0) {
		out.push(number('Version', 'version', when('version', 'compare', 'restoreVersion'), 'The number of the version'));
		out.push(number('To Version', 'toVersion', when('compare'), 'The version to compare with; 0 for the present one'));
	}
	const conditional = has('update', 'delete', 'move', 'reject', 'withdraw', 'restoreVersion');
	if (conditional.length > 0) {
		const description = 'That of the record as it was read: if it has changed since, nothing is done. Empty: whatever it is now.';
		out.push({ ...text('ETag', 'etag', when(...conditional)), required: false, description });
	}
	if (has('upload').length > 0) out.push({ ...text('Input Binary Field', 'binaryField', when('upload', 'download')), default: 'data' });
	if (has('find').length > 0) out.push(text('Words', 'q', when('find')));
	if (has('reject').length > 0) out.push({ ...text('Note', 'note', when('reject')), required: false, description: 'The reason, for its author' });
	out.push(...publish(has('publish').length > 0, when('publish')));
	const fields = [...(r.operations.includes('update') ? r.required.filter((f) => !f.fixed) : [])];
	out.push(...collection('Additional Fields', 'fields', r.optional, when(...has('create', 'upload'))));
	out.push(...collection('Fields to Change', 'fields', [...fields, ...r.optional.filter((f) => !f.fixed)], when(...has('update'))));
	out.push(...paging(when(...has('getAll', 'find', 'versions'))));
	out.push(...collection('Filters', 'filters', r.filters, when(...has('getAll', 'find'))));
	return out;
}

type Shown = Required<Pick<INodeProperties, 'displayOptions'>>['displayOptions'];

function text(displayName: string, name: string, displayOptions: Shown): INodeProperties {
	return { displayName, name, type: 'string', default: '', required: true, displayOptions };
}

function number(displayName: string, name: string, displayOptions: Shown, description: string): INodeProperties {
	return { displayName, name, type: 'number', default: 0, typeOptions: { minValue: 0 }, displayOptions, description };
}

function field(f: Resource['optional'][number]): INodeProperties {
	const defaults: Record<string, unknown> = { number: 0, boolean: false, json: '{}', options: f.options?.[0].value };
	const type = f.type ?? 'string';
	return {
		displayName: f.label,
		name: f.name,
		type,
		default: f.name === 'changes' ? '[]' : ((defaults[type] ?? '') as string),
		...(f.description ? { description: f.description } : {}),
		...(f.placeholder ? { placeholder: f.placeholder } : {}),
		...(f.options ? { options: f.options } : {}),
		...(f.name === 'password' ? { typeOptions: { password: true } } : {}),
	};
}

function collection(displayName: string, name: string, fields: Resource['optional'], displayOptions: Shown): INodeProperties[] {
	if (fields.length === 0 || displayOptions.show?.operation?.length === 0) return [];
	const options = [...fields].sort((a, b) => a.label.localeCompare(b.label)).map(field);
	return [{ displayName, name, type: 'collection', placeholder: 'Add Field', default: {}, displayOptions, options: options as Array<INodePropertyOptions | INodeProperties | INodePropertyCollection> }];
}

function paging(displayOptions: Shown): INodeProperties[] {
	if (displayOptions.show?.operation?.length === 0) return [];
	return [
		{
			displayName: 'Return All',
			name: 'returnAll',
			type: 'boolean',
			default: false,
			displayOptions,
			description: 'Whether to return all results or only up to a given limit',
		},
		{
			displayName: 'Limit',
			name: 'limit',
			type: 'number',
			default: 50,
			typeOptions: { minValue: 1 },
			displayOptions: { show: { ...displayOptions.show, returnAll: [false] } },
			description: 'Max number of results to return',
		},
	];
}

function publish(shown: boolean, displayOptions: Shown): INodeProperties[] {
	if (!shown) return [];
	return [
		{ ...text('Type', 'type', displayOptions), placeholder: 'generation.completed' },
		text('Resource ID', 'resource_id', displayOptions),
		{ displayName: 'Payload', name: 'payload', type: 'json', default: '{}', displayOptions, description: 'An object of at most 256 KiB' },
	];
}
