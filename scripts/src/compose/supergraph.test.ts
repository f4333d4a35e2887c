import test from 'ava';
import { buildASTSchema, OperationTypeNode, parse, print } from 'graphql';
import { composeSupergraph } from './supergraph.ts';

const agent = {
  name: 'agent',
  sdl: `
    type Query {
      agents(first: Int = 20, after: String = null): [AgentDto!]! @access(by: [JWT, API_KEY])
    }
    type Mutation {
      deleteAgent(id: ID!): Boolean! @access(by: [JWT]) @throttle(requests: 10, windowSeconds: 60)
    }
    type AgentDto @key(fields: "id") {
      id: ID!
      name: String!
    }`,
};

const session = {
  name: 'session',
  sdl: `
    type Query {
      session(id: ID!): SessionDto @access(by: [])
    }
    type Subscription {
      sessionEvents(sessionId: ID!): String! @access(by: [JWT, SESSION_TOKEN])
    }
    type SessionDto @key(fields: "id") {
      id: ID!
      agent: AgentDto
    }
    type AgentDto @key(fields: "id", resolvable: false) {
      id: ID!
    }`,
};

test('the supergraph contains the directives of operations with their arguments', (t) => {
  const schema = buildASTSchema(parse(composeSupergraph([agent, session])), { assumeValidSDL: true });
  const directives = (type: OperationTypeNode, field: string) => {
    const node = schema.getRootType(type)?.getFields()[field]?.astNode;
    return node?.directives?.map(print).filter((text) => !text.startsWith('@join__'));
  };

  // allow-name agents: a field of the SDL in this file.
  // allow-name deleteAgent: a field of the same SDL.
  // allow-name sessionEvents: a field of the same SDL.
  t.deepEqual(directives(OperationTypeNode.QUERY, 'agents'), ['@access(by: [JWT, API_KEY])']);
  t.deepEqual(directives(OperationTypeNode.QUERY, 'session'), ['@access(by: [])']);
  t.deepEqual(directives(OperationTypeNode.MUTATION, 'deleteAgent'), [
    '@access(by: [JWT])',
    '@throttle(requests: 10, windowSeconds: 60)',
  ]);
  t.deepEqual(directives(OperationTypeNode.SUBSCRIPTION, 'sessionEvents'), ['@access(by: [JWT, SESSION_TOKEN])']);
});

test('the routing URL of a subgraph contains only its name', (t) => {
  t.regex(composeSupergraph([agent, session]), /@join__graph\(name: "agent", url: "http:\/\/agent\.invalid"\)/);
});

test('composition fails for root fields without @access, and names all of them with their subgraph', (t) => {
  const sdl = `${agent.sdl} extend type Mutation { open: Boolean! }`;
  const other = { ...session, sdl: session.sdl.replace(' @access(by: [])', '') };
  t.throws(() => composeSupergraph([{ name: 'agent', sdl }, other]), {
    message: 'agent: Mutation.open has no @access\nsession: Query.session has no @access',
  });
});

test('composition fails for subgraphs that contradict each other, and names the place', (t) => {
  const sdl = session.sdl.replace('resolvable: false) {', 'resolvable: false) { name: Int! @shareable');
  t.throws(() => composeSupergraph([agent, { name: 'session', sdl }]), { message: /AgentDto\.name/ });
});
