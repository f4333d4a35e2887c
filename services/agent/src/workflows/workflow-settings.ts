import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';

export const workflowSettings = {
  perTenant: setting(
    'AGENT_MAX_WORKFLOWS',
    positiveInt.default(200),
    'Maximum number of workflows of one tenant; a further workflow is refused with `BAD_REQUEST`.',
  ),
  versions: setting(
    'AGENT_MAX_WORKFLOW_VERSIONS',
    positiveInt.default(500),
    'Maximum number of published versions of one workflow; a further version is refused with `BAD_REQUEST`. A new workflow that is created with the same draft starts without versions.',
  ),
} satisfies Settings;

export type WorkflowSettings = ValuesOf<typeof workflowSettings>;
