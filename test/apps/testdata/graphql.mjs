// A GraphQL server with subscriptions over WebSocket (graphql-ws) and queries over HTTP.
import { createServer } from 'node:http'
import { graphql, GraphQLError, GraphQLInt, GraphQLNonNull, GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql'
import { useServer } from 'graphql-ws/use/ws'
import { WebSocketServer } from 'ws'

let counter = 0
const int = new GraphQLNonNull(GraphQLInt)
const schema = new GraphQLSchema({
	query: new GraphQLObjectType({ name: 'Query', fields: { hello: { type: GraphQLString, args: { name: { type: GraphQLString } }, resolve: (_, { name }) => 'hello ' + name } } }),
	mutation: new GraphQLObjectType({ name: 'Mutation', fields: { add: { type: int, args: { n: { type: int } }, resolve: (_, { n }) => counter += n } } }),
	subscription: new GraphQLObjectType({
		name: 'Subscription',
		fields: {
			count: { type: int, args: { to: { type: int } }, async *subscribe(_, { to }) { for (let i = 0; i < to; i++) yield { count: i } } },
			text: { type: GraphQLString, async *subscribe() { yield { text: 'long '.repeat(200_000) } } },
			broken: { type: int, async *subscribe() { yield { broken: 1 }; throw new GraphQLError('of the server') } },
			endless: { type: int, async *subscribe() { for (let i = 0; ; i++) { yield { endless: i }; await new Promise(done => setTimeout(done, 1)) } } },
		},
	}),
})

const server = createServer(async (req, res) => {
	let text = ''
	for await (const part of req) text += part
	const { query, variables } = JSON.parse(text)
	const result = await graphql({ schema, source: query, variableValues: variables })
	res.writeHead(200, { 'Content-Type': 'application/graphql-response+json' }).end(JSON.stringify(result))
})
useServer({ schema }, new WebSocketServer({ server, path: '/graphql' }))
server.listen(0, '127.0.0.1', () => console.log('listening ' + server.address().port))
