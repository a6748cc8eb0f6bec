import type { IAuthenticateGeneric, Icon, ICredentialTestRequest, ICredentialType, INodeProperties } from 'n8n-workflow';

/** An address of Sheaf and an API key of a workspace there. */
export class SheafApi implements ICredentialType {
	name = 'sheafApi';

	displayName = 'Sheaf API';

	icon: Icon = { light: 'file:sheaf.svg', dark: 'file:sheaf.dark.svg' };

	documentationUrl = 'https://sheaf.dev/docs';

	properties: INodeProperties[] = [
		{
			displayName: 'Server',
			name: 'server',
			type: 'string',
			default: '',
			required: true,
			placeholder: 'https://docs.example.com',
			description: 'The address of the service, without a slash at the end',
		},
		{
			displayName: 'API Key',
			name: 'apiKey',
			type: 'string',
			typeOptions: { password: true },
			default: '',
			required: true,
			placeholder: 'shf_…',
			description: 'A key with the scopes of what the workflow does. The trigger needs webhooks:read and webhooks:write.',
		},
	];

	authenticate: IAuthenticateGeneric = {
		type: 'generic',
		properties: { headers: { Authorization: '=Bearer {{$credentials.apiKey}}' } },
	};

	test: ICredentialTestRequest = {
		request: { baseURL: '={{$credentials.server}}', url: '/api/v1/me' },
	};
}
