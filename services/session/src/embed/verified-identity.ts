import type { LinkedIdentity } from '@parley/protos/parley/action/v1/action';

/** The person a session talks to, as verified by the identity provider. */
export interface VerifiedIdentity {
  /** The person's permanent subject at the provider. */
  subject: string;
  /** Null if the provider has not verified an email. */
  email: string | null;
  fullname: string | null;
  /** The person's company. */
  company: string | null;
  /** The person's subjects in products of the provider; at most one per product. */
  products: LinkedIdentity[];
  /** Set until all tickets of the call that identified the person are exchanged. A retry of that call continues from here. */
  unfinished?: Unfinished;
}

export interface Unfinished {
  /** The hash, in hexadecimal, of the person's ticket, which can no longer be exchanged. */
  ticketSha256: string;
  /** Products whose tickets in that call can no longer be exchanged. */
  products: string[];
}

/** Returns the identity with a product's subject added or replaced. */
export function withProduct(identity: VerifiedIdentity, linked: LinkedIdentity): VerifiedIdentity {
  const others = identity.products.filter(({ product }) => product !== linked.product);
  return { ...identity, products: [...others, linked] };
}

/** Returns what workflows may see of an identity: the person and the names of linked products, without the subjects in those products. */
export function identityForWorkflows(identity: VerifiedIdentity): object {
  const { products, unfinished: _, ...person } = identity;
  return { ...person, linkedProducts: products.map(({ product }) => product) };
}
