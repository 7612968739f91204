// An application in React, whose text names its release.
import { createElement, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { release } from './release.js'

const Page = () => {
	const [mounted, setMounted] = useState(false)
	useEffect(() => setMounted(true), [])
	return createElement('h1', null, mounted && 'release ' + release)
}
createRoot(document.querySelector('#root')).render(createElement(Page))
