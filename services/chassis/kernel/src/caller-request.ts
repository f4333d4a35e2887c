import { type Caller, inTenant, serviceCaller, type TenantCaller } from './caller.ts';

/**
 * Who asks a use case, which takes `(ports, request, input)`. Edges make it: those of gRPC by `callerRequest(call)`, those of GraphQL by
 * their context. A use case that needs neither caller nor signal takes none: `(ports, input)`.
 */
export interface CallerRequest<C extends Caller = Caller> {
  caller: C;
  /** Aborts when whoever asked has left. */
  signal: AbortSignal;
  /** Stands for the request's `Idempotency-Key`: commit the effect under it (`onceUnder` of `@parley/postgres`). */
  effectKey?: string | undefined;
}

/** The request of a caller who is in a tenant. Edges make it; a use case that needs a tenant demands it. */
export type TenantRequest = CallerRequest<TenantCaller>;

/** The request in what an edge was called with, without the rest of that. */
export function callerRequest<C extends Caller>({ caller, signal, effectKey }: CallerRequest<C>): CallerRequest<C> {
  return { caller, signal, effectKey };
}

/** The same for a use case that needs a tenant. @throws DomainError as `inTenant` */
export function tenantRequest(call: CallerRequest): TenantRequest {
  return callerRequest({ ...call, caller: inTenant(call.caller) });
}

/** A request that a unit makes by itself, in a job or for an event. */
export function serviceRequest(
  service: string,
  tenantId: number,
  requestId: string,
  signal: AbortSignal,
): TenantRequest {
  return { caller: inTenant(serviceCaller(service, tenantId, requestId)), signal };
}
