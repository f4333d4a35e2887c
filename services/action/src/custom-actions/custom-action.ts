export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof methods)[number];

export const partnerSources = ['PARTNER_A', 'PARTNER_B', 'PARTNER_C'] as const;
/** Credential sources for which the operator provisions the credential, for the whole tenant. */
export type PartnerSource = (typeof partnerSources)[number];

export const sessionSources = ['SESSION_PARTNER_A', 'SESSION_PARTNER_B', 'SESSION_PARTNER_C'] as const;
/** Credential sources with which an action acts as the person in the conversation. */
export type SessionSource = (typeof sessionSources)[number];

export type CredentialSource = PartnerSource | SessionSource | 'MESSAGING_TENANT';

export const messagingRegions = ['REGION_CN', 'REGION_INTL'] as const;
export type MessagingRegion = (typeof messagingRegions)[number];

/** A stored REST call without its credential. */
export interface ActionFields {
  name: string;
  description: string | null;
  /** May have placeholders `{name}` in path and query. */
  url: string;
  method: HttpMethod;
  /** A JSON Schema of the arguments. Null: any object is accepted. */
  argsSchema: Record<string, unknown> | null;
  /** Additional headers of every call. They must not be secret, because they are returned with the action. Null if there are none. */
  extraHeaders: Record<string, string> | null;
  /** Name of the header in which the stored bearer token is sent without a prefix. Null: the header is `Authorization: Bearer <token>`. */
  credentialSecretHeaderName: string | null;
  /** Where the credential comes from. Null: it is the stored bearer token, or there is none. */
  credentialSource: CredentialSource | null;
  /** The kind of the stored `ActionCredential`; null if there is none. */
  storedCredential: ActionCredential['kind'] | null;
  /** The region of the messaging app; null for all other kinds of credentials. */
  messagingRegion: MessagingRegion | null;
}

export interface CustomAction extends ActionFields {
  id: number;
  tenantId: number;
}

/** An action's credential. It is stored encrypted, and decrypted only to send a call. */
export type ActionCredential =
  | { kind: 'BEARER'; token: string }
  | { kind: 'MESSAGING'; appId: string; appSecret: string };

export function isPartnerSource(source: CredentialSource | null): source is PartnerSource {
  return oneOf(partnerSources, source);
}

export function isSessionSource(source: CredentialSource | null): source is SessionSource {
  return oneOf(sessionSources, source);
}

/**
 * Reports whether `url` and `method` are immutable, so that the operator's credential is only sent to the target that it was provisioned
 * for.
 */
export function isProvisioned(source: CredentialSource | null): boolean {
  return source === 'MESSAGING_TENANT' || isPartnerSource(source);
}

function oneOf<Value extends string>(values: readonly Value[], value: string | null): value is Value {
  return (values as readonly (string | null)[]).includes(value);
}
