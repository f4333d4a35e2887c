export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof methods)[number];

export const partnerSources = ['PARTNER_A', 'PARTNER_B', 'PARTNER_C'] as const;
/** A product whose credential the operator provisions for a whole tenant. */
export type PartnerSource = (typeof partnerSources)[number];

export const sessionSources = ['SESSION_PARTNER_A', 'SESSION_PARTNER_B', 'SESSION_PARTNER_C'] as const;
/** A product that is called as the person in the conversation. */
export type SessionSource = (typeof sessionSources)[number];

export type CredentialSource = PartnerSource | SessionSource | 'MESSAGING_TENANT';

export const messagingRegions = ['REGION_CN', 'REGION_INTL'] as const;
export type MessagingRegion = (typeof messagingRegions)[number];

/** A named REST call, as it is stored, without its credential. */
export interface ActionFields {
  name: string;
  description: string | null;
  /** With placeholders `{name}` in path and query. */
  url: string;
  method: HttpMethod;
  /** A JSON Schema of the arguments; null: any object. */
  argsSchema: Record<string, unknown> | null;
  /** No secrets: they are returned to whoever reads the action. Null rather than empty. */
  extraHeaders: Record<string, string> | null;
  /** The header that takes the stored bearer token as it is; null: `Authorization: Bearer`. */
  credentialSecretHeaderName: string | null;
  /** Null: the stored bearer token, or no credential at all. */
  credentialSource: CredentialSource | null;
  /** What its `ActionCredential` is; null: it has none. */
  storedCredential: ActionCredential['kind'] | null;
  /** Where the messaging app lives; null for other credentials. */
  messagingRegion: MessagingRegion | null;
}

export interface CustomAction extends ActionFields {
  id: number;
  tenantId: number;
}

/** What is stored sealed with an action, and opened only to send it. */
export type ActionCredential =
  | { kind: 'BEARER'; token: string }
  | { kind: 'MESSAGING'; appId: string; appSecret: string };

export function isPartnerSource(source: CredentialSource | null): source is PartnerSource {
  return oneOf(partnerSources, source);
}

export function isSessionSource(source: CredentialSource | null): source is SessionSource {
  return oneOf(sessionSources, source);
}

/** Whether `url` and `method` are immutable, so that the credential goes only where it was given for. */
export function isProvisioned(source: CredentialSource | null): boolean {
  return source === 'MESSAGING_TENANT' || isPartnerSource(source);
}

function oneOf<Value extends string>(values: readonly Value[], value: string | null): value is Value {
  return (values as readonly (string | null)[]).includes(value);
}
