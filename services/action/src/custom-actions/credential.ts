import { DomainError } from '@parley/kernel/errors';
import type { CallErrorReason } from './call-error-kind.ts';
import {
  type ActionCredential,
  type CustomAction,
  isPartnerSource,
  isSessionSource,
  type PartnerSource,
  type SessionSource,
} from './custom-action.ts';
import { issueToken, tokenOf } from './issue-token.ts';
import type { MessagingTokens } from './messaging-tokens.ts';

export type Product = PartnerSource;

/**
 * The identity provider that issues tokens of products. Its settings are `IDP_ONE_URL`, `IDP_ONE_CLIENT_ID` and `IDP_ONE_CLIENT_SECRET`.
 */
export interface ProductIssuer {
  url: string;
  clientId: string;
  clientSecret: string;
  timeoutMs: number;
}

/** Sources of credentials. */
export interface CredentialPorts {
  messaging: Pick<MessagingTokens, 'tokenFor' | 'drop'>;
  /** The identity provider; undefined if none is configured. */
  idpOne?: ProductIssuer | undefined;
  /** Decrypts the partner token that the operator has provisioned for the tenant. */
  partnerToken(tenantId: number, product: Product): Promise<string | undefined>;
}

/** The context of one call. */
export interface CallCredentials {
  /** The action's stored credential, decrypted for this call. */
  stored?: ActionCredential | undefined;
  /** Returns the person's subject at a product; undefined if nobody is signed in or the product is not linked. */
  linkedIdentity(product: Product): Promise<string | undefined>;
}

export interface ResolvedCredential {
  headers: Record<string, string>;
  /** Secrets to redact from answers, errors and logs. */
  secrets: string[];
  /** Called when the API answers 401. */
  refused?: () => Promise<void>;
}

/**
 * Makes the headers that authorize a call.
 * @throws DomainError if there is no usable credential; its reason is `IDENTITY_NOT_LINKED`, `CREDENTIAL_MISSING`, `CREDENTIAL_REFUSED` or
 * `CREDENTIAL_UNAVAILABLE` (see `CallErrorKind`)
 * @throws the signal's reason if it aborts
 */
export async function resolveCredential(
  ports: CredentialPorts,
  action: CustomAction,
  call: CallCredentials,
  signal?: AbortSignal,
): Promise<ResolvedCredential> {
  const { credentialSource: source } = action;
  if (source === null) return plainCredential(action, call);
  if (source === 'MESSAGING_TENANT') return messagingCredential(ports, action, call, signal);
  if (isSessionSource(source)) return sessionCredential(ports, source, call, signal);
  if (!isPartnerSource(source)) throw missing();
  const token = await ports.partnerToken(action.tenantId, source);
  if (token === undefined) throw missing();
  return bearer(token);
}

function plainCredential(action: CustomAction, { stored }: CallCredentials): ResolvedCredential {
  if (action.storedCredential === null) return { headers: {}, secrets: [] };
  if (stored?.kind !== 'BEARER') throw missing();
  const { credentialSecretHeaderName: name } = action;
  return name === null ? bearer(stored.token) : { headers: { [name]: stored.token }, secrets: [stored.token] };
}

async function messagingCredential(
  { messaging }: CredentialPorts,
  action: CustomAction,
  { stored }: CallCredentials,
  signal?: AbortSignal,
): Promise<ResolvedCredential> {
  if (stored?.kind !== 'MESSAGING') throw missing();
  const { token, isKept } = await messaging.tokenFor(action, stored, signal);
  const credential = { ...bearer(token), secrets: [token, stored.appSecret] };
  return isKept ? { ...credential, refused: () => messaging.drop(action, token) } : credential;
}

async function sessionCredential(
  { idpOne }: CredentialPorts,
  source: SessionSource,
  call: CallCredentials,
  signal?: AbortSignal,
): Promise<ResolvedCredential> {
  const product = source.replace('SESSION_', '') as Product;
  const subject = await call.linkedIdentity(product);
  if (subject === undefined) {
    const message = `The person in this conversation has no identity of ${product} linked`;
    throw new DomainError('invalid', message, { reason: 'IDENTITY_NOT_LINKED' satisfies CallErrorReason });
  }
  if (!idpOne) throw missing();
  const { url, clientId, clientSecret, timeoutMs } = idpOne;
  const answer = await issueToken({
    url: `${url.replace(/\/+$/u, '')}/products/${product}/token`,
    headers: { 'x-client-id': clientId, 'x-client-secret': clientSecret },
    body: { subject },
    timeoutMs,
    signal,
  });
  return bearer(tokenOf(answer['token']));
}

function bearer(token: string): ResolvedCredential {
  return { headers: { authorization: `Bearer ${token}` }, secrets: [token] };
}

function missing(): DomainError {
  const message = "The action's credential is not provisioned here";
  return new DomainError('invalid', message, { reason: 'CREDENTIAL_MISSING' satisfies CallErrorReason });
}
