/** What resolvers are given of a type whose object is not the one of the schema; `scripts/generate` reads the names. */
export type { Evaluation as EvaluationDto } from '@parley/protos/parley/evaluation/v1/evaluation';
export type { Session as SessionDto } from '../session.ts';
