import { createCustomAction } from '../actions/create-custom-action.ts';
import { deleteCustomAction } from '../actions/delete-custom-action.ts';
import { listCustomActions } from '../actions/list-custom-actions.ts';
import { updateCustomAction } from '../actions/update-custom-action.ts';
import { listOutboundCalls } from '../calls/list-outbound-calls.ts';
import { createConnector } from '../connectors/create-connector.ts';
import { deleteConnector } from '../connectors/delete-connector.ts';
import { listMcpTools } from '../connectors/list-mcp-tools.ts';
import { findConnector, listConnectors } from '../connectors/read-connectors.ts';
import { updateConnector } from '../connectors/update-connector.ts';
import type { Resolvers } from './generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    mcpConnector: async (_, { id }, { ports, tenantRequest }, info) =>
      (await findConnector(ports, tenantRequest(info), id)) ?? null,
    mcpConnectors: (_, __, { ports, answer, tenantRequest }, info) =>
      listConnectors(answer.reading(ports, info), tenantRequest(info)),
    listMcpTools: (_, { connectorId }, { ports, tenantRequest }, info) =>
      listMcpTools(ports, tenantRequest(info), connectorId),
    customActions: (_, __, { ports, answer, tenantRequest }, info) =>
      listCustomActions(answer.reading(ports, info), tenantRequest(info)),
    certifiedOperations: (_, __, { ports, tenantRequest }, info) => {
      tenantRequest(info); // refuses callers without a tenant; the result of the call is not needed
      return [...ports.certifiedOperations];
    },
    outboundCalls: (_, args, { ports, answer, tenantRequest }, info) =>
      listOutboundCalls(answer.reading(ports, info), tenantRequest(info), args),
  },

  Mutation: {
    createMcpConnector: (_, { input }, { ports, tenantRequest }, info) =>
      createConnector(ports, tenantRequest(info), input),
    updateMcpConnector: (_, { input }, { ports, tenantRequest }, info) =>
      updateConnector(ports, tenantRequest(info), input),
    deleteMcpConnector: (_, { id }, { ports, tenantRequest }, info) => deleteConnector(ports, tenantRequest(info), id),
    createCustomAction: (_, { input }, { ports, tenantRequest }, info) =>
      createCustomAction(ports, tenantRequest(info), input),
    updateCustomAction: (_, { input }, { ports, tenantRequest }, info) =>
      updateCustomAction(ports, tenantRequest(info), input),
    deleteCustomAction: (_, { id }, { ports, tenantRequest }, info) =>
      deleteCustomAction(ports, tenantRequest(info), id),
  },
};
