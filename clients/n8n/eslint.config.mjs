import { config } from '@n8n/node-cli/eslint';

export default [
	...config,
	{
		files: ['package.json'],
		rules: {
			// Sheaf's licence is not MIT, which n8n asks of the packages that it verifies, and its author is no person.
			'n8n-nodes-base/community-package-json-license-not-default': 'off',
			'n8n-nodes-base/community-package-json-author-email-missing': 'off',
			'@n8n/community-nodes/valid-author': 'off',
		},
	},
];
