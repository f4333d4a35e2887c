import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';

export const workflowSettings = {
  perTenant: setting('AGENT_MAX_WORKFLOWS', positiveInt.default(200), 'Workflows of one tenant (`BAD_REQUEST`).'),
  versions: setting(
    'AGENT_MAX_WORKFLOW_VERSIONS',
    positiveInt.default(500),
    'Versions of one workflow (`BAD_REQUEST`); a copy begins anew.',
  ),
} satisfies Settings;

export type WorkflowSettings = ValuesOf<typeof workflowSettings>;
