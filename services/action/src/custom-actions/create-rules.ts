import { parseInput, text, withoutNulls } from '@parley/kernel/input';
import { z } from 'zod';
import { headerSecret } from '../header-secret.ts';
import { type ActionRules, actionFields, secretHeaderName, sessionSource, urlRule } from './action-input.ts';
import {
  type ActionCredential,
  type ActionFields,
  type MessagingRegion,
  messagingRegions,
  type PartnerSource,
} from './custom-action.ts';

export interface CreateCustomActionInput {
  name: string;
  url: string;
  method?: string | null | undefined;
  description?: string | null | undefined;
  argsSchema?: unknown;
  bearerToken?: string | null | undefined;
  credentialSecretHeaderName?: string | null | undefined;
  extraHeaders?: unknown;
  messagingAppId?: string | null | undefined;
  messagingAppSecret?: string | null | undefined;
  messagingRegion?: string | null | undefined;
  credentialSource?: string | null | undefined;
}

/** The fields of a new action, and the credential to seal. */
export interface NewAction {
  fields: ActionFields;
  credential?: ActionCredential;
}

const maxTokenLength = 8_192;

const messagingRegion = z.enum(messagingRegions, `must be one of ${messagingRegions.join(', ')}`) as z.ZodType<
  MessagingRegion,
  string
>;

function newInput(rules: ActionRules) {
  const fields = actionFields(rules);
  return fields
    .extend({ url: fields.shape.url.check(urlRule(rules)) })
    .partial()
    .required({ name: true, url: true })
    .extend({
      bearerToken: headerSecret(maxTokenLength).optional(),
      credentialSecretHeaderName: secretHeaderName.optional(),
      messagingAppId: text(200).optional(),
      messagingAppSecret: text(1_000).optional(),
      messagingRegion: messagingRegion.optional(),
      credentialSource: sessionSource.optional(),
    })
    .superRefine(checkCredentials, { when: () => true });
}

/** Allows at most one of bearer token, messaging pair and session source, each with its related fields. */
function checkCredentials(given: Partial<CreateCustomActionInput>, context: z.core.$RefinementCtx): void {
  const has = (field: keyof CreateCustomActionInput) => given[field] !== undefined;
  const refuse = (field: keyof CreateCustomActionInput, message: string) =>
    context.addIssue({ code: 'custom', message, path: [field] });

  const hasPair = has('messagingAppId') || has('messagingAppSecret');
  if (has('bearerToken') && hasPair)
    refuse('bearerToken', 'must not be given with messagingAppId or messagingAppSecret');
  if (has('credentialSource') && has('bearerToken')) refuse('credentialSource', 'must not be given with bearerToken');
  if (has('credentialSource') && hasPair)
    refuse('credentialSource', 'must not be given with messagingAppId or messagingAppSecret');
  if (hasPair && !has('messagingAppId')) refuse('messagingAppId', 'must be given with messagingAppSecret');
  if (hasPair && !has('messagingAppSecret')) refuse('messagingAppSecret', 'must be given with messagingAppId');
  if (has('messagingRegion') && !hasPair)
    refuse('messagingRegion', 'must be given with messagingAppId and messagingAppSecret only');
  if (has('credentialSecretHeaderName') && !has('bearerToken'))
    refuse('credentialSecretHeaderName', 'must be given with bearerToken only');
}

/**
 * Validates a new action; null counts as omitted.
 * @throws DomainError `invalid`, which lists every problem and never repeats a credential
 */
export function newAction(rules: ActionRules, input: CreateCustomActionInput): NewAction {
  const given = parseInput(newInput(rules), withoutNulls(input));
  const { bearerToken, messagingAppId, messagingAppSecret, messagingRegion, ...fields } = given;
  const row = { ...emptyFields, ...fields };
  if (bearerToken !== undefined)
    return { fields: { ...row, storedCredential: 'BEARER' }, credential: { kind: 'BEARER', token: bearerToken } };
  if (messagingAppId === undefined || messagingAppSecret === undefined) return { fields: row };
  return {
    fields: {
      ...row,
      credentialSource: 'MESSAGING_TENANT',
      storedCredential: 'MESSAGING',
      messagingRegion: messagingRegion ?? 'REGION_INTL',
    },
    credential: { kind: 'MESSAGING', appId: messagingAppId, appSecret: messagingAppSecret },
  };
}

/**
 * Validates an action that the operator provisions. Its calls are sent with the tenant's partner credential.
 * @throws the same errors as `newAction`
 */
export function newPartnerAction(
  rules: ActionRules,
  source: PartnerSource,
  input: Pick<CreateCustomActionInput, 'name' | 'url' | 'method' | 'description' | 'argsSchema' | 'extraHeaders'>,
): NewAction {
  const { fields } = newAction(rules, input);
  return { fields: { ...fields, credentialSource: source } };
}

const emptyFields = {
  description: null,
  method: 'POST',
  argsSchema: null,
  extraHeaders: null,
  credentialSecretHeaderName: null,
  credentialSource: null,
  storedCredential: null,
  messagingRegion: null,
} as const satisfies Partial<ActionFields>;
