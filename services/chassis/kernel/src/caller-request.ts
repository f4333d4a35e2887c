import { type Caller, inTenant, serviceCaller, type TenantCaller } from './caller.ts';

/**
 * The caller and signal of a use case, which takes `(ports, request, input)`. Edges create it: gRPC by `callerRequest(call)`, GraphQL by
 * its context. A use case that needs neither takes `(ports, input)`.
 */
export interface CallerRequest<C extends Caller = Caller> {
  caller: C;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
  /** Derived from the request's `Idempotency-Key`: commit the effect under this key (`onceUnder` of `@parley/postgres`). */
  effectKey?: string | undefined;
}

/** A request whose caller is in a tenant, for use cases that need one. */
export type TenantRequest = CallerRequest<TenantCaller>;

/** Picks the request from an edge's call context. */
export function callerRequest<C extends Caller>({ caller, signal, effectKey }: CallerRequest<C>): CallerRequest<C> {
  return { caller, signal, effectKey };
}

/**
 * Picks the request from an edge's call context, for a use case that needs a tenant.
 * @throws DomainError `forbidden` with reason `NO_TENANT` if the caller is in no tenant
 */
export function tenantRequest(call: CallerRequest): TenantRequest {
  return callerRequest({ ...call, caller: inTenant(call.caller) });
}

/** Makes the request of a unit that acts on its own behalf, in a job or for an event. */
export function serviceRequest(
  service: string,
  tenantId: number,
  requestId: string,
  signal: AbortSignal,
): TenantRequest {
  return { caller: inTenant(serviceCaller(service, tenantId, requestId)), signal };
}
