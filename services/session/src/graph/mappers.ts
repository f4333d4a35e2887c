/** The objects that resolvers get, if they differ from the schema's types. `scripts/generate` reads the names of these exports. */
export type { Evaluation as EvaluationDto } from '@parley/protos/parley/evaluation/v1/evaluation';
export type { CustomerEdge as SessionEdge, CustomerPage as SessionConnection } from '../embed/customer-sessions.ts';
export type { Session as SessionDto } from '../session.ts';
