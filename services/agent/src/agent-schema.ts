import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { agents } from './migrations/001-agents.ts';
import { textGenerations } from './migrations/002-text-generations.ts';
import { committedKeys } from './migrations/003-committed-keys.ts';
import { keptGenerations } from './migrations/004-kept-generations.ts';
import { generationClaims } from './migrations/005-generation-claims.ts';
import { knowledgeBases } from './migrations/006-knowledge-bases.ts';
import { tools } from './migrations/007-tools.ts';
import { workflowVersions } from './migrations/008-workflow-versions.ts';
import { workflowRuns } from './migrations/009-workflow-runs.ts';
import { embedAgents } from './migrations/010-embed-agents.ts';
import { workflowRunBytes } from './migrations/011-workflow-run-bytes.ts';
import { hiddenAgents } from './migrations/012-hidden-agents.ts';

export const agentSchema: SchemaDeclaration = {
  name: 'agent',
  tables: {
    agents: 'tenant',
    agent_audit_logs: 'tenant',
    workflows: 'tenant',
    workflow_versions: 'tenant',
    workflow_runs: 'tenant',
    workflow_run_bytes: 'internal',
    workflow_run_days: 'internal',
    text_generations: 'internal',
    committed_keys: 'internal',
    kept_generations: 'internal',
  },
  migrations: [
    agents,
    textGenerations,
    committedKeys,
    keptGenerations,
    generationClaims,
    knowledgeBases,
    tools,
    workflowVersions,
    workflowRuns,
    embedAgents,
    workflowRunBytes,
    hiddenAgents,
  ],
};
