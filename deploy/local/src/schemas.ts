import { agentSchema } from '@parley/agent/schema';
import type { SchemaDeclaration } from '@parley/chassis/database/types';
import { evaluationSchema } from '@parley/evaluation/schema';
import { identitySchema } from '@parley/identity/schema';
import { sessionSchema } from '@parley/session/schema';

/** What every service keeps in a database, in the order in which units start. */
export const schemas: SchemaDeclaration[] = [identitySchema, agentSchema, evaluationSchema, sessionSchema];
