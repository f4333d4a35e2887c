import type { LinkedIdentity } from '@parley/protos/parley/action/v1/action';

/** Whom a session talks to, as the identity provider says. */
export interface VerifiedIdentity {
  /** Who it is at the provider, for ever. */
  subject: string;
  /** Null where the provider has verified none. */
  email: string | null;
  fullname: string | null;
  /** The name of where they work. */
  company: string | null;
  /** Who they are in products of the provider; one of each product. */
  products: LinkedIdentity[];
  /** Set until every ticket of the call that named the person is exchanged: the same call may then go on. */
  unfinished?: Unfinished;
}

export interface Unfinished {
  /** Of the person's ticket, in hexadecimal; it is spent. */
  ticketSha256: string;
  /** Products whose tickets of that call are spent. */
  products: string[];
}

/** The identity with another product, or with another subject in one. */
export function withProduct(identity: VerifiedIdentity, linked: LinkedIdentity): VerifiedIdentity {
  const others = identity.products.filter(({ product }) => product !== linked.product);
  return { ...identity, products: [...others, linked] };
}

/** What a workflow sees: no subject of a product. */
export function identityForWorkflows(identity: VerifiedIdentity): object {
  const { products, unfinished: _, ...person } = identity;
  return { ...person, linkedProducts: products.map(({ product }) => product) };
}
