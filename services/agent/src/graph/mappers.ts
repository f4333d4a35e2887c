/** Objects that resolvers receive instead of the schema's types; `scripts/generate` reads the names. */

export type { AuditLog as AuditLogDto, ListedAgent as AgentDto } from '../agents/agent.ts';
export type { WorkflowRun as WorkflowRunDto } from '../workflow-runs/workflow-run.ts';
