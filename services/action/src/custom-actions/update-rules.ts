import { type FieldProblem, invalid } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import { type ActionRules, actionFields, secretHeaderName, sessionSource } from './action-input.ts';
import {
  type ActionFields,
  type CustomAction,
  isProvisioned,
  isSessionSource,
  type SessionSource,
} from './custom-action.ts';
import { urlTemplateProblem } from './url-template.ts';

export interface UpdateCustomActionInput {
  id: number;
  name?: string | null | undefined;
  url?: string | null | undefined;
  method?: string | null | undefined;
  description?: string | null | undefined;
  argsSchema?: unknown;
  extraHeaders?: unknown;
  credentialSecretHeaderName?: string | null | undefined;
  credentialSource?: string | null | undefined;
}

export interface ChangedAction {
  /** Fields whose value differs from the stored value. */
  changes: Partial<ActionFields>;
  /** The stored credential to delete, together with its cached token; null if none. */
  clearsCredential: ActionFields['storedCredential'];
}

/**
 * Computes the changes of an update. Omitted fields are unchanged; null clears optional fields and is refused for all other fields.
 * @throws DomainError `invalid` with every problem of single fields or, if there is none, with every problem of the whole update
 */
export function changedAction(rules: ActionRules, stored: CustomAction, input: UpdateCustomActionInput): ChangedAction {
  const given = parseInput(changedInput(rules), input);
  const problems = [
    ...urlProblems(rules, stored, given),
    ...immutableProblems(stored, given),
    ...credentialProblems(stored, given),
  ];
  if (problems.length > 0) throw invalid(...problems.map(({ path, message }) => ({ path: `input.${path}`, message })));

  const { id: _, ...fields } = given;
  const switches =
    isSessionSource(given.credentialSource ?? null) && stored.credentialSource !== given.credentialSource;
  const cleared = switches ? withoutCredential : {};
  return {
    changes: differing(stored, { ...fields, ...cleared }),
    clearsCredential: switches ? stored.storedCredential : null,
  };
}

const withoutCredential = {
  storedCredential: null,
  messagingRegion: null,
  credentialSecretHeaderName: null,
} satisfies Partial<ActionFields>;

function changedInput(rules: ActionRules) {
  const fields = actionFields(rules);
  return fields
    .extend({
      description: fields.shape.description.nullable(),
      credentialSecretHeaderName: secretHeaderName.nullable(),
      credentialSource: sessionSource.nullable(),
    })
    .partial()
    .extend({ id: z.int() });
}

type Given = Partial<ActionFields> & { credentialSource?: SessionSource | null };

/** Checks a changed URL. An unchanged URL is not checked again, because the operator's rules may have changed since it was stored. */
function urlProblems({ outbound }: ActionRules, { url: stored }: CustomAction, { url }: Given): FieldProblem[] {
  const message = url === undefined || url === stored ? undefined : urlTemplateProblem(url, outbound.urlProblem);
  return message === undefined ? [] : [{ path: 'url', message }];
}

function immutableProblems(stored: CustomAction, given: Given): FieldProblem[] {
  if (!isProvisioned(stored.credentialSource)) return [];
  const message = `is immutable with the credential source ${stored.credentialSource}; create a new action`;
  const changed = (['url', 'method'] as const).filter(
    (field) => given[field] !== undefined && given[field] !== stored[field],
  );
  return changed.map((path) => ({ path, message }));
}

function credentialProblems(stored: CustomAction, given: Given): FieldProblem[] {
  const { credentialSource: source, credentialSecretHeaderName: headerName } = given;
  const problems: FieldProblem[] = [];
  if (source === null && isProvisioned(stored.credentialSource)) {
    const message = `must not be null with the credential source ${stored.credentialSource}`;
    problems.push({ path: 'credentialSource', message });
  }
  const becomesSession = isSessionSource(source ?? null);
  if (headerName !== undefined && (stored.storedCredential !== 'BEARER' || (becomesSession && headerName !== null))) {
    const message = 'must be given for an action with a stored bearer token only';
    problems.push({ path: 'credentialSecretHeaderName', message });
  }
  return problems;
}

function differing(stored: CustomAction, given: Partial<ActionFields>): Partial<ActionFields> {
  const isSame = (field: string, value: unknown) =>
    JSON.stringify(value) === JSON.stringify(stored[field as keyof ActionFields]);
  return Object.fromEntries(Object.entries(given).filter(([field, value]) => !isSame(field, value)));
}
