import { ActionServiceDefinition } from './gen/parley/action/v1/action.ts';
import { AgentServiceDefinition } from './gen/parley/agent/v1/agent.ts';
import { EvaluationServiceDefinition } from './gen/parley/evaluation/v1/evaluation.ts';
import { ExportServiceDefinition } from './gen/parley/export/v1/export.ts';
import { IdentityServiceDefinition } from './gen/parley/identity/v1/identity.ts';
import { KnowledgeServiceDefinition } from './gen/parley/knowledge/v1/knowledge.ts';
import { SessionServiceDefinition } from './gen/parley/session/v1/session.ts';

/**
 * The gRPC services that units offer to other units, by the name of the serving unit. A unit gets a client of every service that its
 * `calls` lists.
 */
export const meshServices = {
  action: ActionServiceDefinition,
  agent: AgentServiceDefinition,
  evaluation: EvaluationServiceDefinition,
  export: ExportServiceDefinition,
  identity: IdentityServiceDefinition,
  knowledge: KnowledgeServiceDefinition,
  session: SessionServiceDefinition,
};

export type MeshServices = typeof meshServices;

/** The name of a unit that other units call. */
export type MeshService = keyof MeshServices;
