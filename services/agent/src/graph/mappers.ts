/** Types of the objects that resolvers receive in place of the schema's types. `scripts/generate` reads the names of these types. */

export type { AuditLog as AuditLogDto, ListedAgent as AgentDto } from '../agents/agent.ts';
export type { WorkflowRun as WorkflowRunDto } from '../workflow-runs/workflow-run.ts';
