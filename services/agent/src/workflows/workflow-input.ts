import { measureJson } from '@parley/json-schema/json-size';
import { rule, text } from '@parley/kernel/input';
import { storageProblem } from '@parley/kernel/input-checks';
import { isJsonObject } from '@parley/kernel/json';
import { z } from 'zod';
import { definitionLimits } from '../workflow/definition.ts';

/** Any JSON object, valid or not, so that unfinished work can be saved. */
const draft = z
  .unknown()
  .check(rule(draftProblem))
  .transform((given) => given as object);

function draftProblem(given: unknown): string | undefined {
  if (given === null) return 'must not be null';
  if (!isJsonObject(given)) return 'must be a JSON object';
  return measureJson(given, definitionLimits).problem ?? storageProblem(given);
}

/** The settable fields of a workflow, declared only here; the SDL documents them. */
export const workflowFields = z.object({
  name: text(200),
  description: text(4_000).nullable(),
  draft,
});

export const workflowChanges = workflowFields.partial();

export const newWorkflow = workflowFields.partial().required({ name: true });
