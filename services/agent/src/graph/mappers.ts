/** What resolvers are given of a type whose object is not the one of the schema; `scripts/generate` reads the names. */
export type { AuditLog as AuditLogDto, ListedAgent as AgentDto } from '../agent.ts';
