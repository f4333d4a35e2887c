import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { maxNodesOfTurn } from '../workflow/engine.ts';

export const workflowRunSettings = {
  turnTimeMs: setting(
    'AGENT_WORKFLOW_TURN_MS',
    positiveInt.default(60_000),
    'Maximum time that the nodes of a workflow may run in one turn or task, without waits for a model slot. Then the turn or task fails with `TURN_TIMEOUT`.',
  ),
  nodes: setting(
    'AGENT_WORKFLOW_NODES',
    positiveInt.default(maxNodesOfTurn),
    'Maximum number of nodes that a workflow may run in one turn or task. With more nodes, the run fails with `WORKFLOW_LIMIT`.',
  ),
  accessKeptMs: setting(
    'AGENT_WORKFLOW_ACCESS_MS',
    positiveInt.default(1_000),
    'Maximum time that a workflow run may continue to make calls after its tenant was deleted, or, for a task, after its tenant was suspended or the API key or sign-in of its caller was revoked. While identity is unavailable, runs continue.',
  ),
  tenantBytes: setting(
    'AGENT_WORKFLOW_RUN_BYTES',
    positiveInt.default(268_435_456),
    'Maximum total size of the stored workflow runs of one tenant. Above this size, the oldest runs are deleted before `AGENT_WORKFLOW_RUN_DAYS` have passed, also the last run of a session that is still in use; its workflow then starts anew.',
  ),
  days: setting(
    'AGENT_WORKFLOW_RUN_DAYS',
    positiveInt.default(30),
    'Days for which workflow runs and their traces are kept. The last run of a session that is still in use is kept longer.',
  ),
} satisfies Settings;

export type WorkflowRunSettings = ValuesOf<typeof workflowRunSettings>;
