import type { LinkedIdentity } from '@parley/protos/parley/action/v1/action';

/** The person who uses a session, as verified by the identity provider. */
export interface VerifiedIdentity {
  /** The provider's permanent identifier of the person. */
  subject: string;
  /** Null if the provider has not verified an email. */
  email: string | null;
  fullname: string | null;
  /** Name of the person's company; null if the provider returned none. */
  company: string | null;
  /** The person's identifiers in products of the provider; at most one for each product. */
  products: LinkedIdentity[];
  /**
   * The progress of the call that identified the person; unset when all its tickets are exchanged. A retry of the call continues from here.
   */
  unfinished?: Unfinished;
}

export interface Unfinished {
  /** SHA-256 hash, in hexadecimal, of the ticket that identified the person. This ticket was used up. */
  ticketSha256: string;
  /** Products whose tickets the unfinished call has already exchanged; a retry skips them. */
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
