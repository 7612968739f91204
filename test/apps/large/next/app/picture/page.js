import Image from 'next/image'

export default function Page() {
	return <Image id="picture" src="/picture.png" width={200} height={150} alt="a picture" priority />
}
