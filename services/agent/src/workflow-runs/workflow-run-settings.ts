import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { maxNodesOfTurn } from '../workflow/engine.ts';

export const workflowRunSettings = {
  turnTimeMs: setting(
    'AGENT_WORKFLOW_TURN_MS',
    positiveInt.default(60_000),
    'How long the nodes of a workflow may take in one turn or task (`TURN_TIMEOUT`).',
  ),
  nodes: setting(
    'AGENT_WORKFLOW_NODES',
    positiveInt.default(maxNodesOfTurn),
    'Nodes that a workflow may run in one turn or task (`WORKFLOW_LIMIT`).',
  ),
  accessKeptMs: setting(
    'AGENT_WORKFLOW_ACCESS_MS',
    positiveInt.default(1_000),
    'How long a run may go on with calls after its API key or sign-in was revoked, or its tenant deleted.',
  ),
  tenantBytes: setting(
    'AGENT_WORKFLOW_RUN_BYTES',
    positiveInt.default(268_435_456),
    'Bytes that the runs of one tenant may hold; beyond, the oldest are deleted before their time.',
  ),
  days: setting(
    'AGENT_WORKFLOW_RUN_DAYS',
    positiveInt.default(30),
    'How long runs of workflows are kept with their traces. The last one of a session that goes on is kept longer.',
  ),
} satisfies Settings;

export type WorkflowRunSettings = ValuesOf<typeof workflowRunSettings>;
